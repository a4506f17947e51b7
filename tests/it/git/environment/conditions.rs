//! Conditions of `includeIf`: each pattern, in each file, for each place of a repository, next to the installed git.
//!
//! A file that is included adds a format, and `--list` says which: one run decides all patterns. The patterns are all combinations
//! of a start, a middle and an end.

use std::{fs, path::Path};

use super::{Output, text};
use crate::support::{Repo, process::run};

const KINDS: [&str; 2] = ["gitdir", "gitdir/i"];
/// `$` stands for the directory of all places.
const STARTS: [&str; 9] = ["", "./", "~/", "~", "/", "**/", "$/", "$/home/", "$/data/"];
const MIDDLES: [&str; 12] = [
    "",
    ".",
    "*",
    "r",
    "R",
    "link",
    "link/.git",
    "data/r",
    "data/r/.git",
    "dotgit",
    "dotgit/.git",
    "b*.git",
];
const ENDS: [&str; 4] = ["", "/", "/**", "/."];

/// The repository itself, links to it and to its git directory, a file in place of one, a linked work tree, a bare repository.
const LAYOUT: &str = r#"
mkdir home data
ln -s home home.link
git init -q -b main data/r
git -C data/r commit -q --allow-empty -m one
mkdir -p data/r/sub home/dotgit/sub home/file/sub
git -C data/r worktree add -q ../../home/wt
git clone -q --bare data/r data/bare.git
ln -s ../data/r home/link
ln -s ../data/bare.git home/bare.git
ln -s ../../data/r/.git home/dotgit/.git
echo 'gitdir: ../link/.git' >home/file/.git
"#;

/// A directory, and the variables with which git runs there.
type Place = (&'static str, &'static [(&'static str, &'static str)]);

const PLACES: [Place; 18] = [
    ("data/r", &[]),
    ("data/r/sub", &[]),
    ("data/r/.git", &[]),
    ("home/link", &[]),
    ("home/link/sub", &[]),
    ("home/dotgit", &[]),
    ("home/dotgit/sub", &[]),
    ("home.link/dotgit", &[]),
    ("home/file", &[]),
    ("home/wt", &[]),
    ("home/bare.git", &[]),
    ("home/bare.git/refs", &[]),
    ("home/link", &[("GIT_DIR", ".git")]),
    ("home/link/sub", &[("GIT_DIR", "../.git")]),
    ("home", &[("GIT_DIR", "dotgit/.git")]),
    (
        "home/dotgit/sub",
        &[("GIT_DIR", "$/home/dotgit/.git"), ("GIT_WORK_TREE", "..")],
    ),
    ("home/dotgit", &[("GIT_WORK_TREE", ".")]),
    ("home/dotgit/sub", &[("GIT_WORK_TREE", "..")]),
];

/// Files that may have the conditions, with the variable that makes git read them.
const FILES: [(&str, Option<&str>); 5] = [
    ("home/.gitconfig", None),
    ("data/conditions", Some("GIT_CONFIG_GLOBAL")),
    ("home/link/conditions", Some("GIT_CONFIG_SYSTEM")),
    ("data/r/.git/config", None),
    ("data/bare.git/config", None),
];

/// The formats of `program` in a place, once with the path of the directory as the shell has it, and once without.
fn formats(
    top: &Repo,
    program: &str,
    (directory, variables): Place,
    file: (&Path, Option<&str>),
    has_pwd: bool,
) -> Output {
    let repo = top.clone().at(directory);
    let mut command = repo.command(program);
    if program == "git" {
        command.arg("archive");
    }
    command.arg("--list").env("HOME", top.path().join("home"));
    if has_pwd {
        command.env("PWD", repo.path());
    } else {
        command.env_remove("PWD");
    }
    for (name, value) in variables {
        command.env(name, value.replace('$', &text(top.path())));
    }
    if let (path, Some(name)) = file {
        command.env("GIT_CONFIG_NOSYSTEM", "0").env(name, path);
    }
    run(&mut command)
}

/// A file with a condition for each pattern of `kinds`.
fn conditions(top: &Path, kinds: &[&str]) -> String {
    let mut file = String::new();
    let patterns = STARTS.iter().flat_map(|start| {
        let with_end = move |middle| ENDS.iter().map(move |end| format!("{start}{middle}{end}"));
        MIDDLES.iter().flat_map(with_end)
    });
    for (number, pattern) in patterns.enumerate() {
        let pattern = pattern.replace('$', &text(top));
        for kind in kinds {
            let name = format!("{number}-{}", kind.replace('/', "-"));
            let included = top.join("inc").join(&name);
            let format = format!("[tar \"{name}:{pattern}\"]\n\tcommand = cat\n");
            fs::write(&included, format).expect("our own");
            file += &format!(
                "[includeIf \"{kind}:{pattern}\"]\n\tpath = {}\n",
                text(&included)
            );
        }
    }
    file
}

#[track_caller]
fn patterns_match_in(files: &[(&str, Option<&str>)], places: &[Place]) {
    let top = Repo::scratch();
    let _ = top.shell(&format!("set -e\nmkdir inc\n{LAYOUT}")).success();
    let conditions = conditions(top.path(), &KINDS);
    for (name, variable) in files {
        let path = top.path().join(name);
        let sound = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{sound}{conditions}")).expect("our own");
        let mut has_matches = false;
        for place in places {
            for has_pwd in [true, false] {
                let list = |program| formats(&top, program, *place, (&path, *variable), has_pwd);
                let (ours, theirs) = (list("git-sluice"), list("git"));
                let case = format!("{name} {place:?} PWD: {has_pwd}");
                assert_eq!(theirs.code(), 0, "{case}\n{theirs}");
                assert!(theirs.messages().is_empty(), "{case}\n{theirs}");
                has_matches |= theirs.stdout.len() > 100;
                let (ours, theirs) = (super::without_own_format(&ours), theirs.stdout);
                assert_eq!(lines_of(&ours, &theirs), lines_of(&theirs, &ours), "{case}");
            }
        }
        // A repository does not read the configuration of another one, but each file is that of some place.
        assert!(has_matches, "{name}");
        fs::write(&path, sound).expect("our own");
    }
}

/// The lines of `text` that `other` lacks.
fn lines_of<'t>(text: &'t [u8], other: &[u8]) -> Vec<&'t str> {
    let text = str::from_utf8(text).expect("our own");
    let other: Vec<_> = str::from_utf8(other).expect("our own").lines().collect();
    text.lines().filter(|line| !other.contains(line)).collect()
}

#[test]
fn patterns_match() {
    patterns_match_in(&FILES[..1], &[PLACES[4], PLACES[5], PLACES[10]]);
}

#[test]
#[ignore = "slow"]
fn patterns_match_everywhere() {
    patterns_match_in(&FILES, &PLACES);
}
