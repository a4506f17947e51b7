//! `--base-filters`: a delta is refused if its base was sent with other filters. The hash of the filters covers all that decides
//! about files, and nothing else.

use std::fs;

use serde_json::Value;

use super::History;
use crate::support::import::{file, files};

const ENDS: [&str; 2] = ["old", "new"];

fn history() -> History {
    let old = files([("a", file("1")), (".gitattributes", file("*.c eol=crlf\n"))]);
    let new = files([("a", file("2")), (".gitattributes", file("*.c text\n"))]);
    History::new(&old, &new)
}

impl History {
    /// The hash in the manifest of the archive of `treeish`.
    #[track_caller]
    fn filters(&self, treeish: &str, options: &[&str]) -> Value {
        let (mut lines, _) = self.repo.manifest([options, &[treeish]].concat());
        lines[0]["filters"].take()
    }
}

#[test]
fn they_are_the_same_for_each_commit_and_door() {
    let history = history();
    for options in [&[][..], &["--profile=zoekt"], &["--max-size=1k"]] {
        let filters = history.filters("old", options);
        let hash = filters.as_str().expect("there is one");
        assert_eq!(history.filters("new", options), filters);
        let info = [&["info"], options, &["new"]].concat();
        assert_eq!(history.repo.json(info)["filters"], filters);
        let threads = [options, &["-j8", "--memory=64m"]].concat();
        assert_eq!(history.filters("new", &threads), filters);
        let given = format!("--base-filters={hash}");
        let delta = history.delta(ENDS, &[options, &[&given]].concat());
        assert!(delta.success() == history.delta(ENDS, options).success());
    }
}

#[test]
fn another_option_is_noticed() {
    let history = history();
    fs::write(history.git.join("rules"), "x\n").expect("our own");
    let rules = format!("--exclude-from={}", history.git.join("rules").display());
    let before = history.filters("old", &[]);
    let all = [
        "--max-size=1k",
        "--no-attributes",
        "--exclude=x",
        "--profile=searcher",
        "--symlinks=file",
        "--prefix=p/",
        "--pax-notes",
        &rules,
    ];
    for option in all {
        assert_ne!(history.filters("old", &[option]), before, "{option}");
    }
    let before = history.filters("old", &[&rules]);
    fs::write(history.git.join("rules"), "y\n").expect("our own");
    assert_ne!(history.filters("old", &[&rules]), before);
}

#[test]
fn configuration_and_attributes_outside_of_the_tree_are_noticed() {
    let history = history();
    let mut seen = vec![history.filters("old", &[])];
    let mut is_new = |what: &str| {
        let filters = history.filters("new", &[]);
        assert!(!seen.contains(&filters), "{what}");
        seen.push(filters);
    };
    fs::create_dir_all(history.git.join("info")).expect("our own");
    fs::write(history.git.join("info/attributes"), "a export-ignore\n").expect("our own");
    is_new("info/attributes");
    history.repo.git(["config", "core.autocrlf", "true"]);
    is_new("core.autocrlf");
    history.repo.git(["config", "tar.umask", "0077"]);
    is_new("tar.umask");
}

/// The option asks for the files of a work tree, and a bare repository has none.
#[test]
fn a_bare_repository_has_no_work_tree() {
    let [old, new] = ["1", "2"].map(|content| {
        let attributes = file("a export-ignore\n");
        files([
            ("config", file(content)),
            ("a", file("")),
            (".gitattributes", attributes),
        ])
    });
    let history = History::new(&old, &new);
    let _ = history.repo.git(["clone", "-q", "--bare", ".", "bare.git"]);
    let repo = history.repo.at("bare.git");
    let git = repo.path().to_owned();
    let bare = History { repo, git };
    let option = "--worktree-attributes";
    let filters = bare.filters("old", &[option]);
    let hash = filters.as_str().expect("there is one");
    assert_eq!(bare.filters("new", &[option]), filters);
    assert_ne!(bare.filters("old", &[]), filters);
    let given = format!("--base-filters={hash}");
    let delta = bare.delta(ENDS, &[option, &given]).success();
    assert!(delta == bare.delta(ENDS, &[option]).success());
    let _ = bare.assert_delta(ENDS, &[option]);
    // A pathspec asks for the mode of a file next to the objects.
    let modes = ":(attr:builtin_objectmode=100644)config";
    let words = ["--base-filters=?", option, "--", modes];
    bare.delta(ENDS, &words)
        .assert_refused(3, &["attributes come from the work tree"]);
}

#[test]
fn a_delta_over_other_filters_is_refused() {
    let history = history();
    let filters = history.filters("old", &["--max-size=1k"]);
    let given = format!("--base-filters={}", filters.as_str().expect("there is one"));
    let own = history.filters("old", &[]);
    let own = own.as_str().expect("there is one");
    let output = history.delta(ENDS, &[&given]);
    output.assert_failure(
        3,
        &format!(
            "fatal: the base may have been sent with other filters\n\
             caused by: these have the hash {own}\n\
             hint: leave out --base to get a full archive\n"
        ),
    );
    let output = history.delta(ENDS, &["--base-filters=?", "--worktree-attributes"]);
    output.assert_failure(
        3,
        "fatal: the base may have been sent with other filters\n\
         caused by: attributes come from the work tree\n\
         hint: leave out --base to get a full archive\n",
    );
}
