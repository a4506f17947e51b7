//! Ignore rules: where they are read from, what is wrong with them, and what they spare us.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sluice_core::filter::ignore::Ignore;

use super::{GRAMMAR, IGNORE_FILE, IGNORED, archive_under, commit_without, files, names, unpack};
use crate::support::Repo;
use crate::support::forge;

/// A commit with this blob, link or other thing as its ignore file, beside the files `a` and `b`.
fn commit_with_rules(repo: &Repo, mode: &str, id: &str) -> String {
    let blob = forge::blob(repo, "content");
    let directory = forge::tree(repo, &[(mode, b"ignore", id)]);
    let entries: [(&str, &[u8], &str); 3] = [
        ("40000", b".sourcegraph", &directory),
        ("100644", b"a", &blob),
        ("100644", b"b", &blob),
    ];
    forge::commit(repo, &entries)
}

/// A repository whose HEAD has this ignore file.
pub(super) fn with_rules(rules: impl Into<Vec<u8>>) -> Repo {
    let repo = Repo::init();
    let rules = forge::blob(&repo, rules);
    let commit = commit_with_rules(&repo, "100644", &rules);
    repo.git(["update-ref", "HEAD", &commit]);
    repo
}

/// The archive is git's of a tree in which nothing is that is ignored.
#[track_caller]
fn assert_as_without(repo: &Repo, args: &[&str], paths: &[&str]) {
    let head = repo.git(["rev-parse", "HEAD"]);
    let commit = commit_without(repo, paths);
    for format in ["--format=tar", "--format=zip"] {
        let ours = repo.sluice([format].iter().chain(args).chain(&["HEAD"]));
        let theirs = archive_under(repo, format, &commit, &head);
        assert!(ours.stdout == theirs, "{args:?} {format}\n{ours}");
    }
}

#[test]
fn rules_come_from_the_tree_from_files_and_from_the_command_line() {
    let repo = Repo::copy("filters");
    // The name of the commit is in this one, and zip has a sum of it.
    let named = "--exclude=attributes/commit.subst";
    let without = |paths: &[&'static str]| [&["attributes/commit.subst"], paths].concat();
    assert_as_without(&repo, &[named, IGNORE_FILE], &without(&IGNORED));

    let rules = repo.git(["show", "HEAD:.sourcegraph/ignore"]);
    repo.write("rules", rules);
    assert_as_without(&repo, &[named, "--exclude-from=rules"], &without(&IGNORED));
    let each = [
        "--exclude=/ignored/",
        "--exclude=**/testdata/**",
        "--exclude=/*.min.js",
    ];
    assert_as_without(&repo, &[&[named][..], &each].concat(), &without(&IGNORED));

    // Each beside the others.
    repo.write("more", "# other rules\r\nbinary\r\nsize/\r\n");
    let all = [named, IGNORE_FILE, "--exclude-from=more", "--exclude=links"];
    let more = without(&[&IGNORED[..], &["binary", "size", "links"]].concat());
    assert_as_without(&repo, &all, &more);
}

/// `export-ignore` leaves the directory of what it leaves out, whether there are exclude rules or not.
#[test]
fn what_the_tree_keeps_out_still_has_its_directory() {
    let repo = Repo::copy("export-ignore");
    let args = ["--exclude=nothing-of-that-name", "HEAD"];
    assert_eq!(
        repo.sluice(args).success(),
        repo.archive(["HEAD"]).success()
    );
}

#[test]
fn an_ignore_file_that_is_a_link_holds_the_target() {
    let repo = Repo::init();
    let target = forge::blob(&repo, "a");
    let commit = commit_with_rules(&repo, "120000", &target);
    repo.git(["update-ref", "HEAD", &commit]);
    assert_eq!(files(&repo, &[IGNORE_FILE]), [".sourcegraph/ignore", "b"]);
}

#[test]
fn what_is_no_ignore_file_is_none() {
    let repo = Repo::init();
    let rules = forge::blob(&repo, "a");
    let directory = forge::tree(&repo, &[("100644", b"a", &rules)]);
    let made_up = forge::made_up(7);
    for (mode, id, found) in [
        (
            "40000",
            &directory,
            &[".sourcegraph/ignore/a", "a", "b"][..],
        ),
        ("160000", &made_up, &["a", "b"]),
    ] {
        let commit = commit_with_rules(&repo, mode, id);
        repo.git(["update-ref", "HEAD", &commit]);
        assert_eq!(files(&repo, &[IGNORE_FILE]), found, "{mode}");
    }
    assert_eq!(
        files(&repo, &["--exclude-from-tree=no/such/file"]),
        ["a", "b"]
    );
}

/// Nobody knows what rules are in what cannot be read.
#[test]
fn a_damaged_ignore_file_is_an_error() {
    let repo = with_rules("a");
    let id = repo.git(["rev-parse", "HEAD:.sourcegraph/ignore"]);
    forge::loose(&repo, &id, b"blob 5\0");
    let output = repo.sluice([IGNORE_FILE, "HEAD", "a"]);
    output.assert_refused(128, &["'.sourcegraph/ignore'"]);
    let tree = repo.git(["rev-parse", "HEAD:.sourcegraph"]);
    forge::loose(&repo, &tree, b"tree 5\0");
    repo.sluice([IGNORE_FILE, "HEAD", "a"])
        .assert_refused(128, &[]);
}

#[test]
fn a_bad_line_ends_the_run_before_its_first_byte() {
    let repo = with_rules("good\n[\nother\n");
    let message = "fatal: cannot use exclude rules of '.sourcegraph/ignore'\ncaused by: line 2: '[': missing ']'\n";
    repo.sluice([GRAMMAR, "HEAD"]).assert_failure(128, message);
    repo.sluice([GRAMMAR, "-o", "archive.tar", "HEAD"])
        .assert_failure(128, message);
    assert!(!repo.path().join("archive.tar").exists());

    let output = repo.sluice(["--exclude-from=nowhere", "HEAD"]);
    output.assert_refused(128, &["'nowhere'", "No such file or directory"]);
}

/// As in zoekt, a NUL is no part of the pattern.
#[test]
fn a_nul_ends_a_text() {
    let repo = with_rules("a\0\n");
    let output = repo.sluice([GRAMMAR, "HEAD"]);
    assert_eq!(output.messages(), "");
    assert_eq!(
        crate::support::tar_listing::names(&output.success()),
        [".sourcegraph/", ".sourcegraph/ignore", "b"]
    );
}

/// Where zoekt does otherwise everybody is told, and traps only those who look.
#[test]
fn what_is_said_of_good_lines() {
    let repo = with_rules("x/{*.js,y}\n.github/\n");
    let plain = repo.sluice([GRAMMAR, "HEAD"]).messages();
    assert!(plain.starts_with("warning: .sourcegraph/ignore:1: 'x/{*.js,y}'"));
    assert_eq!(plain.lines().count(), 1, "{plain}");
    for look in ["ls", "explain"] {
        let words = [look, GRAMMAR, "HEAD", "a"];
        let told = repo.sluice(words).messages();
        assert!(told.starts_with(&plain), "{told}");
        let hint = "hint: .sourcegraph/ignore:2: '.github/'";
        assert!(told[plain.len()..].starts_with(hint), "{told}");
    }
}

#[test]
fn a_pruned_directory_is_not_read() {
    let repo = Repo::copy("filters");
    unpack(&repo);
    forge::lose(&repo, "HEAD:ignored");
    assert_ne!(repo.sluice(["HEAD"]).code(), 0);
    let (told, output) = repo.summary([GRAMMAR, "HEAD"]);
    let _ = output.success();
    assert_eq!(told["directories"]["pruned"], 2);
    // kept/testdata is the other one. All others are the root and those above what is left.
    assert_eq!(told["directories"]["read"], 9);
    assert_eq!(told["omitted"]["excluded"], 3);
    assert_eq!(told["blobs"]["skipped"], 1);
}

/// The rules are those of the tree that is archived, by its paths.
#[test]
fn paths_are_those_of_the_tree_that_is_named() {
    let repo = Repo::from("filters");
    let found = repo.sluice(["--exclude=deep", "HEAD:ignored"]).success();
    assert_eq!(crate::support::tar_listing::names(&found), ["a"]);
    let found = names(&repo, &["--prefix=ignored/", IGNORE_FILE]);
    assert!(found.contains(&"ignored/kept/file".into()), "{found:?}");
    assert!(!found.contains(&"ignored/x.min.js".into()), "{found:?}");
}

fn paths() -> impl Strategy<Value = BTreeSet<String>> {
    let directory = prop::sample::select(vec!["a", "b", "ab", ".c"]);
    let name = prop::sample::select(vec!["x", "y.js", "a.x", "[x]"]);
    let path = (prop::collection::vec(directory, 0..4), name);
    let path = path.prop_map(|(mut parts, name)| {
        parts.push(name);
        parts.join("/")
    });
    prop::collection::btree_set(path, 1..12)
}

fn rules() -> impl Strategy<Value = Vec<String>> {
    let token = prop::sample::select(vec![
        "a", "b", "ab", ".c", "x", "y.js", "/", "/", "*", "**", "?", "[ab]", "{a,b}", "\\",
    ]);
    let rule = prop::collection::vec(token, 1..6).prop_map(|tokens| tokens.concat());
    prop::collection::vec(rule, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// What is pruned is what would have been ignored, file by file.
    #[test]
    fn pruning_changes_nothing(paths in paths(), rules in rules()) {
        let mut ignore = Ignore::new();
        let text = rules.join("\n");
        prop_assume!(ignore.add("rules", text.as_bytes()).is_ok());
        let repo = Repo::init();
        let blob = forge::blob(&repo, "content");
        let rules = forge::blob(&repo, text);
        let listing = paths.iter().map(|path| format!("100644 {blob}\t{path}\n"));
        let listing = listing.chain([format!("100644 {rules}\trules\n")]);
        repo.git_with_input(["update-index", "--index-info"], listing.collect::<String>());
        let tree = repo.git(["write-tree"]);
        let archive = repo.sluice(["--exclude-from-tree=rules", GRAMMAR, &tree]).success();
        let mut found = crate::support::tar_listing::names(&archive);
        found.retain(|name| !name.ends_with('/') && name != "rules");
        let kept: Vec<&String> = paths.iter().filter(|path| !ignore.ignores(path.as_bytes())).collect();
        let found: BTreeSet<&String> = found.iter().collect();
        prop_assert_eq!(found, kept.into_iter().collect::<BTreeSet<_>>());
    }
}
