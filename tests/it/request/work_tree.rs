//! Where git sees the work tree: what `GIT_DIR`, `GIT_WORK_TREE` and the current directory make of it.

use std::fs;
use std::path::Path;

use crate::support::tar_listing;
use crate::support::{Repo, git_version};

/// A repository in `r` whose work tree, whose git directory, and a directory `o` beside it ignore
/// different files; `b.git` is a bare clone.
fn with_attributes() -> Repo {
    let top = Repo::scratch();
    for directory in ["r/sub", "o"] {
        fs::create_dir_all(top.path().join(directory)).expect("our own");
    }
    for name in ["top", "beside", "inside", "sub/top", "sub/beside"] {
        top.write(Path::new("r").join(name), name);
    }
    let repo = top.clone().at("r");
    repo.git(["init", "-q", "-b", "main"]);
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "-m", "first"]);
    repo.git(["clone", "-q", "--bare", ".", "../b.git"]);
    for (directory, name) in [
        ("r", "top"),
        ("r/sub", "beside"),
        ("o", "beside"),
        ("r/.git", "inside"),
        ("b.git", "inside"),
    ] {
        let file = Path::new(directory).join(".gitattributes");
        top.write(file, format!("{name} export-ignore\n"));
    }
    top
}

#[test]
fn attributes_of_the_work_tree() {
    let top = with_attributes();
    let path = |name: &str| top.path().join(name).display().to_string();
    let (r, o, git, bare) = (path("r"), path("o"), path("r/.git"), path("b.git"));
    for (directory, git_dir, work_tree) in [
        ("o", git.as_str(), ""),
        ("o", "../r/.git", ""),
        ("r/sub", &git, ""),
        ("r/.git", ".", ""),
        ("r/.git", "", ""),
        ("r/.git/refs", "", ""),
        ("o", &git, &r),
        ("r", &git, &o),
        ("r", &git, "."),
        ("b.git", "", ""),
        ("o", &bare, ""),
        ("o", &bare, "."),
    ] {
        let repo = top.clone().at(directory);
        let repo = match git_dir {
            "" => repo,
            _ => repo.env("GIT_DIR", git_dir),
        };
        let repo = match work_tree {
            "" => repo,
            _ => repo.env("GIT_WORK_TREE", work_tree),
        };
        repo.assert_same_once(["--worktree-attributes", "HEAD"]);
    }
    let config = ["config", "core.worktree", &o];
    let repo = top.clone().at("r");
    repo.git(config);
    repo.assert_same_archive(["--worktree-attributes", "HEAD"]);
    top.clone()
        .at("o")
        .env("GIT_DIR", &git)
        .assert_same_archive(["--worktree-attributes", "HEAD"]);
}

/// A name of the configuration is relative to where git runs.
#[test]
fn attribute_file_named_relatively() {
    let top = with_attributes();
    top.write("o/mine", "top export-ignore\n");
    top.write("mine", "sub export-ignore\n");
    top.at("o")
        .env("GIT_DIR", "../r/.git")
        .with(["-c", "core.attributesFile=mine"])
        .assert_same(["HEAD"]);
}

#[test]
fn a_server_reads_no_attributes_in_a_bare_repository() {
    let top = with_attributes();
    for name in ["b.git", "r", "r/.git"] {
        let remote = format!("--remote={name}");
        let args = [remote.as_str(), "--worktree-attributes", "HEAD"];
        let theirs = top.archive(args).success();
        assert!(top.served(args).success() == theirs, "{name}");
    }
}

/// The prefix is `.git/`, and no tree has such a directory.
#[test]
fn a_work_tree_named_in_the_git_directory() {
    let top = with_attributes();
    for git_dir in ["", "."] {
        let repo = top.clone().at("r/.git").env("GIT_WORK_TREE", "..");
        let repo = match git_dir {
            "" => repo,
            _ => repo.env("GIT_DIR", git_dir),
        };
        let output = repo.sluice(["HEAD"]);
        assert!(tar_listing::names(&output.stdout).is_empty(), "{output}");
        assert_eq!(output.code(), 0, "{output}");
        if git_version() >= (2, 41) {
            repo.assert_same(["HEAD"]);
        }
    }
}
