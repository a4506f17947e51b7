//! The recipes of the page about fleets: their YAML is sound, and their commands do what the page says.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::from_slice;

use super::Fleet;
use crate::{
    support::process::{Output, run, run_with_input},
    support::{Repo, binary, skip},
};

/// Reads YAML as YAML is read: all commands, in order.
const COMMANDS: &str = "
import json, sys, yaml
def commands(value, key=None):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from commands(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from commands(inner, key)
    elif key in ('run', 'script', 'before_script'):
        yield value.rstrip()
print(json.dumps(list(commands(yaml.safe_load(sys.stdin)))))
";

/// A `cargo` that installs the program under test, if it is asked for one commit with object stores.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
"install --locked --features store "*"--git https://github.com/git-sluice/git-sluice --rev $COMMIT git-sluice") ;;
*) echo "cargo $*" >&2; exit 1 ;;
esac
root=$HOME/.cargo
case "$*" in *--root*) root=. ;; esac
mkdir -p "$root/bin"
ln -s "$PROGRAM" "$root/bin/git-sluice"
"#;

/// The commit of git-sluice that recipes build.
const COMMIT: &str = "0123456789012345678901234567890123456789";

/// The blocks of YAML.
fn recipes() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci-recipes.md");
    let page = fs::read_to_string(page).expect("there is a page");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().expect("one part"));
    blocks.map(ToOwned::to_owned).collect()
}

/// The commands of a recipe: `run: <command>`, the items of `script:` and `before_script:`, each in one line or, after `|`, in
/// the deeper lines that follow.
fn commands(recipe: &str) -> Vec<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut commands = Vec::new();
    let mut lines = recipe.lines().peekable();
    let mut list = None;
    while let Some(line) = lines.next() {
        let text = line.trim();
        if text.ends_with("script:") {
            list = Some(depth(line));
            continue;
        }
        list = list.filter(|list| depth(line) > *list);
        let item = text.strip_prefix("- ");
        let command = match item.unwrap_or(text).strip_prefix("run: ") {
            Some(command) => command,
            None => match item.filter(|_| list.is_some()) {
                Some(command) => command,
                None => continue,
            },
        };
        if command != "|" {
            commands.push(command.to_owned());
            continue;
        }
        let mut block: Vec<&str> = Vec::new();
        while let Some(inner) = lines.next_if(|inner| depth(inner) > depth(line)) {
            block.push(inner);
        }
        let margin = depth(block[0]);
        let block: Vec<_> = block.iter().map(|inner| &inner[margin..]).collect();
        commands.push(block.join("\n"));
    }
    commands
}

/// Without this test the commands could be others than those that a service reads.
#[test]
fn recipes_are_yaml() {
    let scratch = Repo::scratch();
    if scratch.shell("python3 -c 'import yaml'").code() != 0 {
        return skip("the module yaml of Python is not installed");
    }
    for recipe in recipes() {
        let mut python = scratch.command("python3");
        let read = run_with_input(python.args(["-c", COMMANDS]), recipe.as_str()).success();
        let read: Vec<String> = from_slice(&read).expect("a list");
        assert_eq!(read, commands(&recipe));
    }
}

/// A machine of a service, which has neither the program nor a way to it other than the recipe's.
struct Machine {
    place: Repo,
}

impl Machine {
    fn new(fleet: &Fleet, place: &Repo, commit: &str) -> Machine {
        let home = fleet.directory("home");
        let tools = fleet.directory("tools");
        fs::create_dir_all(&tools).expect("our own");
        fs::create_dir_all(&home).expect("our own");
        fs::write(tools.join("cargo"), CARGO).expect("our own");
        fleet.top.script("chmod +x tools/cargo");
        for tool in ["sh", "git", "mkdir", "ln", "rm", "ls"] {
            let found = fleet.top.shell(&format!("command -v {tool}")).success();
            let _ = symlink(text(&found).trim(), tools.join(tool));
        }
        let path = format!("{}/.cargo/bin:{}", home.display(), tools.display());
        let place = place.clone().env("PATH", path).env("HOME", &home);
        let place = place
            .env("PROGRAM", binary())
            .env("SLUICE", COMMIT)
            .env("COMMIT", COMMIT)
            .env("AWS_TOKEN", "a token")
            .env("BUCKET", fleet.bucket())
            .env("GITHUB_OUTPUT", fleet.directory("output"));
        let place = place
            .env("GITHUB_SHA", commit)
            .env("CI_COMMIT_SHA", commit)
            .env("CI_REPOSITORY_URL", fleet.repo.path());
        Machine { place }
    }

    /// As services run the commands of a job: up to the first that fails.
    fn runs(&self, commands: &[String]) -> Output {
        let script = format!("set -e\n{}", commands.join("\n"));
        let mut shell = self.place.command("sh");
        run(shell.args(["-c", &script]))
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The commands of the two jobs of a recipe. Both begin with those that install the program: each has its own, or those of the
/// first are those of both.
fn jobs(recipe: &str) -> (Vec<String>, Vec<String>) {
    let commands = commands(recipe);
    let published = commands
        .iter()
        .position(|it| it.contains("sluice publish "));
    let published = published.expect("it publishes");
    let (publishing, testing) = commands.split_at(published + 1);
    let is_own = testing.iter().any(|it| it.contains("cargo install"));
    let common = if is_own {
        &[]
    } else {
        &publishing[..published]
    };
    (publishing.to_vec(), [common, testing].concat())
}

#[test]
fn each_recipe_works() {
    let recipes = recipes();
    assert_eq!(recipes.len(), 2);
    for recipe in recipes {
        let (fleet, _) = Fleet::published();
        let commit = fleet.commit("echo recipe >small");
        let (publishing, testing) = jobs(&recipe);
        let publisher = Machine::new(&fleet, &fleet.repo, &commit);
        let _ = publisher.runs(&publishing).success();
        let tester = Machine::new(&fleet, &fleet.top, &commit);
        let _ = tester.runs(&testing).success();
        fleet.assert_holds("tree", &commit);

        // The bucket cannot be reached: the commit comes from elsewhere, into the same directory.
        fs::rename(fleet.bucket(), fleet.directory("away")).expect("our own");
        let _ = fs::remove_dir_all(fleet.directory("tree"));
        if recipe.contains("actions/checkout") {
            // The service's own step clones, if the step before says so; the last step needs its result.
            let _ = tester.runs(&testing[..testing.len() - 1]).success();
            let output = fs::read(fleet.directory("output")).expect("it was written");
            assert_eq!(text(&output), "clone=true\n");
            assert!(recipe.contains(
                "if: steps.apply.outputs.clone\n        uses: actions/checkout@v4\n        with: { path: tree }"
            ));
            fleet.top.script("mkdir tree && echo other >tree/x");
        } else {
            let _ = tester.runs(&testing).success();
            let head = fleet.top.shell("git -C tree rev-parse HEAD").success();
            assert_eq!(text(&head).trim(), commit);
            let small = fs::read(fleet.directory("tree/small")).expect("it is there");
            assert_eq!(text(&small), "recipe\n");
        }

        // It is back: the next job does not stumble over the clone.
        fs::rename(fleet.directory("away"), fleet.bucket()).expect("our own");
        let _ = tester.runs(&testing).success();
        fleet.assert_holds("tree", &commit);

        // Anything else ends the job.
        fs::write(fleet.channel_path(), "{").expect("our own");
        let _ = fs::remove_dir_all(fleet.directory("tree"));
        assert_eq!(tester.runs(&testing).code(), 11);
    }
}

/// A job without credentials would not reach an object store. No recipe needs a permanent key.
#[test]
fn recipes_name_the_credentials() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci-recipes.md");
    let page = fs::read_to_string(page).expect("there is a page");
    assert!(!page.contains("SECRET"), "{page}");
    let parts = page.split("\n## ").filter(|part| part.contains("```yaml"));
    let parts: Vec<_> = parts.collect();
    assert_eq!(parts.len(), recipes().len());
    for part in parts {
        for name in ["BUCKET", "AWS_REGION", "PUBLISH_ROLE", "READ_ROLE"] {
            assert!(part.contains(&format!("`{name}`")), "{name}: {part}");
            // GitLab hands its variables to every job.
            let is_handed_on = part.contains(&format!("${{{{ vars.{name} }}}}"));
            assert!(is_handed_on != part.contains("$CI_"), "{name}: {part}");
        }
        for role in ["PUBLISH_ROLE", "READ_ROLE"] {
            let github = format!("role-to-assume: \"${{{{ vars.{role} }}}}\"");
            let gitlab = format!("AWS_ROLE_ARN: ${role}");
            assert!(
                part.contains(&github) || part.contains(&gitlab),
                "{role}: {part}"
            );
        }
    }
}
