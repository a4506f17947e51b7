//! The recipes of the page about fleets, line by line.

use std::{fs, path::Path};

use super::Fleet;

/// The shell lines of the blocks of YAML.
fn recipes() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleets.md");
    let page = fs::read_to_string(page).expect("there is a page");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let shell = |line: &str| {
        let item = line.trim().strip_prefix("- ")?;
        let run = item.strip_prefix("run: ");
        let is_setting = run.is_none() && item.starts_with("uses: ");
        (!is_setting).then(|| run.unwrap_or(item).to_owned())
    };
    blocks
        .map(|block| block.lines().filter_map(shell).collect())
        .collect()
}

#[test]
fn each_recipe_works() {
    let recipes = recipes();
    assert_eq!(recipes.len(), 2);
    for lines in recipes {
        let (fleet, _) = Fleet::published();
        let commit = fleet.commit("echo recipe >small");
        let [publish, rest @ ..] = &lines[..] else {
            panic!("{lines:?}")
        };
        let url = fleet.repo.path().to_owned();
        let with = |repo: &crate::support::Repo| {
            let repo = repo.clone().env("BUCKET", fleet.bucket());
            let repo = repo
                .env("GITHUB_SHA", &commit)
                .env("CI_COMMIT_SHA", &commit);
            repo.env("CI_REPOSITORY_URL", &url)
        };
        let _ = with(&fleet.repo).shell(publish).success();
        let job = format!("set -e\n{}", rest.join("\n"));
        let _ = with(&fleet.top).shell(&job).success();
        fleet.assert_holds("tree", &commit);
        assert!(!fleet.directory("other").exists());
        // The bucket is gone.
        fs::rename(fleet.bucket(), fleet.directory("elsewhere")).expect("our own");
        let output = with(&fleet.top).shell(&job.replace("=tree", "=none"));
        match job.contains("clone") {
            true => {
                assert_eq!(output.code(), 0, "{output}");
                assert!(fleet.directory("other/small").exists());
            }
            false => assert_eq!(output.code(), 10, "{output}"),
        }
    }
}
