//! t5001: where attributes come from, and what export-ignore and export-subst do.

use super::{assert_same_contents, file, untarred, work_tree};
use crate::archive::readers::Contents;
use crate::support::{Repo, git_version};

const FIXTURE: &str = "upstream-attributes";

/// The files that are archived, in the order of their names, without directories.
#[track_caller]
fn files(repo: &Repo, args: &[&str]) -> Vec<String> {
    let contents = untarred(repo.sluice(args).success());
    let names = contents
        .into_keys()
        .map(|path| path.escape_ascii().to_string());
    names
        .filter(|name| !name.ends_with(".gitattributes"))
        .collect()
}

const ALL: [&str; 13] = [
    "excluded-by-pathspec.d",
    "excluded-by-pathspec.d/file",
    "ignored",
    "ignored-by-tree",
    "ignored-by-tree.d",
    "ignored-by-tree.d/file",
    "ignored-by-worktree",
    "nosubstfile",
    "subdir",
    "subdir/ignored-by-subtree",
    "subdir/ignored-by-tree",
    "subdir/included",
    "substfile1",
];

/// `ALL` but these and what begins with one of them.
fn all_but(absent: &[&str]) -> Vec<String> {
    let mut left: Vec<String> = ALL
        .iter()
        .chain(&["substfile2"])
        .map(|&n| n.into())
        .collect();
    left.retain(|name| {
        let base = name.rsplit('/').next().unwrap_or(name);
        !absent
            .iter()
            .any(|absent| name.starts_with(&format!("{absent}/")) || base == *absent)
    });
    left
}

/// What the committed attributes and info/attributes leave.
const BY_TREE: [&str; 4] = [
    "ignored",
    "ignored-by-tree",
    "ignored-by-tree.d",
    "ignored-by-subtree",
];

#[test]
fn git_archive() {
    let repo = Repo::from(FIXTURE);
    assert_eq!(files(&repo, &["HEAD"]), all_but(&BY_TREE));
}

#[test]
fn git_archive_with_pathspec() {
    let repo = Repo::from(FIXTURE);
    let expected = all_but(&[&BY_TREE[..], &["excluded-by-pathspec.d"]].concat());
    for pathspec in [":!excluded-by-pathspec.d", ":!excluded-by-p*"] {
        assert_eq!(
            files(&repo, &["HEAD", ".", pathspec]),
            expected,
            "{pathspec}"
        );
    }
}

#[test]
fn git_archive_in_subdir() {
    let subdir = Repo::from(FIXTURE).at("subdir");
    assert_eq!(files(&subdir, &["HEAD"]), ["included"]);
}

#[test]
fn git_archive_with_worktree_attributes() {
    let repo = Repo::from(FIXTURE);
    let expected = all_but(&["ignored", "ignored-by-worktree", "ignored-by-subtree"]);
    let option = "--worktree-attributes";
    assert_eq!(files(&repo, &[option, "HEAD"]), expected);
    assert_eq!(files(&repo, &[option, option, "HEAD"]), expected);
    for format in ["--format=tar", "--format=zip"] {
        repo.assert_same([format, option, "HEAD"]);
        repo.assert_same([format, option, option, "HEAD", "subdir"]);
    }
}

#[test]
fn git_archive_vs_bare() {
    let repo = Repo::from(FIXTURE);
    let bare = repo.clone().at("../bare.git");
    assert!(bare.sluice(["HEAD"]).success() == repo.sluice(["HEAD"]).success());
    bare.assert_same(["HEAD"]);
}

#[test]
fn git_archive_with_worktree_attributes_bare() {
    let bare = Repo::from(FIXTURE).at("../bare.git");
    bare.assert_same(["--worktree-attributes", "HEAD"]);
    // Since 2.43 a configured tree takes the place of the work tree.
    let bare = bare.with(["-c", "attr.tree=HEAD"]);
    let args = ["--worktree-attributes", "HEAD"];
    if git_version() >= (2, 43) {
        bare.assert_same(args);
    }
    assert_eq!(files(&bare, &args), all_but(&BY_TREE));
}

#[test]
fn export_subst() {
    let repo = Repo::from(FIXTURE);
    let found = untarred(repo.sluice(["HEAD"]).success());
    let shown = repo.git(["log", "-1", "--format=O %H (%h)%n A", "HEAD"]);
    let mut expected: Contents = work_tree(&repo);
    expected.insert(b"substfile1".to_vec(), file(format!("{shown}\n")));
    expected.retain(|path, _| found.contains_key(path));
    expected.insert(b".gitattributes".to_vec(), file(committed(&repo)));
    assert_same_contents(&found, &expected);
}

fn committed(repo: &Repo) -> String {
    repo.git(["show", "HEAD:.gitattributes"]) + "\n"
}

#[test]
fn export_subst_expands_describe_once() {
    let repo = Repo::copy(FIXTURE);
    repo.git(["tag", "-m", "described", "v1.0"]);
    let line = "$Format:%(describe)$\n$Format:%(describe)$\n";
    repo.write("substfile1", line);
    repo.write("substfile2", line);
    repo.git(["add", "substfile1", "substfile2"]);
    repo.git(["commit", "-qm", "describe"]);
    let found = untarred(repo.sluice(["HEAD"]).success());
    let left = "%(describe)";
    let first = format!("{}\n{left}\n", repo.git(["describe"]));
    assert_eq!(found.get(&b"substfile1"[..]), Some(&file(first)));
    let second = format!("{left}\n{left}\n");
    assert_eq!(found.get(&b"substfile2"[..]), Some(&file(second)));
    repo.assert_same(["HEAD"]);
}
