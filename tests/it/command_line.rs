//! Options as git reads them, and what becomes of those that it would not.
//!
//! What an option does to the archive is for `oracle.rs`, where the archive goes for
//! `destination.rs`.

use crate::support::Repo;

/// A usage error has git's status, nothing on stdout and a usage text. The words are our parser's,
/// so all that is asked of them is the name of what is wrong.
#[track_caller]
fn assert_usage(args: &[&str], culprit: &str) {
    let ours = Repo::from("basic").sluice(args);
    assert_eq!(ours.code(), 129, "{ours}");
    assert!(ours.stdout.is_empty(), "{ours}");
    let messages = ours.messages();
    assert!(messages.starts_with("error: "), "{ours}");
    assert!(
        messages
            .lines()
            .next()
            .is_some_and(|line| line.contains(culprit)),
        "{ours}"
    );
    let theirs = Repo::from("basic").archive(args);
    assert_eq!(theirs.code(), 129, "{theirs}");
}

#[test]
fn unknown_and_malformed_options() {
    assert_usage(&["--x=1", "HEAD"], "--x");
    assert_usage(&["--nosuch", "HEAD"], "--nosuch");
    assert_usage(&["HEAD", "--nosuch"], "--nosuch");
    assert_usage(&["-Z", "HEAD"], "-Z");
    assert_usage(&["--format"], "--format");
    assert_usage(&["HEAD", "--prefix"], "--prefix");
    assert_usage(&["-o"], "--output");
    assert_usage(&["--verbose=3", "HEAD"], "--verbose");
}

#[test]
fn malformed_options_of_our_own() {
    for args in [
        ["--threads=x", "HEAD"],
        ["-j=", "HEAD"],
        ["--memory=1q", "HEAD"],
        ["--memory=", "HEAD"],
    ] {
        let output = Repo::from("basic").sluice(args);
        assert_eq!(output.code(), 129, "{output}");
        assert!(
            output.stdout.is_empty() && output.messages().starts_with("error: "),
            "{output}"
        );
    }
}

#[test]
fn no_tree_ish() {
    for args in ["", "-v", "--", "--prefix=p/", "--format=nosuch"] {
        let output = Repo::from("basic").sluice(args.split_whitespace());
        assert_eq!(output.code(), 129, "{output}");
        assert!(output.stdout.is_empty(), "{output}");
        assert!(
            output.messages().to_lowercase().contains("usage: "),
            "{output}"
        );
    }
}

#[test]
fn options_in_any_place_and_notation() {
    for args in [
        "-- HEAD dir",
        "HEAD -- dir",
        "HEAD dir -v",
        "--end-of-options HEAD",
        "-- -- HEAD",
        "HEAD -- -v",
        "HEAD -- -- dir",
        "--prefix=a/ --prefix=b/ HEAD",
        "--prefix -v HEAD",
        "--no-prefix HEAD",
        "--prefix=a/ --no-prefix HEAD",
        "-v -v HEAD",
        "-vv HEAD",
        "-v -v -v HEAD",
        "-v --no-verbose HEAD",
        "--format=nosuch --no-format HEAD",
        "--format=nosuch --format=tar HEAD",
        "--pref=p/ --verb --form=tar HEAD",
    ] {
        Repo::from("basic").assert_same(args.split_whitespace());
    }
}

/// Ours: more threads than there is work, and no more than the least memory.
#[test]
fn extreme_limits() {
    let repo = Repo::from("deltas");
    let expected = repo.archive(["HEAD"]).success();
    for limits in [
        "-j1 --memory=1",
        "-j 64 --memory=1",
        "-j300",
        "--memory=1g",
        "--threads=2 --memory=64k",
    ] {
        let output = repo.sluice(limits.split_whitespace().chain(["HEAD"]));
        assert!(
            output.stdout == expected && output.code() == 0,
            "{limits}\n{output}"
        );
    }
}

#[test]
fn formats() {
    let repo = Repo::from("basic");
    let unknown = |name| format!("fatal: Unknown archive format '{name}'\n");
    repo.assert_both_die(["--format=foo", "HEAD"], &unknown("foo"));
    repo.assert_both_die(["--format=", "HEAD"], &unknown(""));
    repo.assert_both_die(["--format=TAR", "HEAD"], &unknown("TAR"));
    repo.assert_both_die(["--format=foo", "nosuch"], &unknown("foo"));
    Repo::scratch().assert_both_die(["--format=foo", "HEAD"], &unknown("foo"));
}

#[test]
fn levels() {
    let level = "fatal: Argument not supported for format 'tar': -9\n";
    Repo::from("basic").assert_both_die(["-9", "HEAD"], level);
    Repo::from("basic").assert_both_die(["-1", "-9", "nosuch"], level);
}

/// On a pipe there is nothing to see unless it is asked for, and it is never mixed up with the
/// archive.
#[test]
fn progress() {
    let repo = Repo::from("big");
    let expected = repo.archive(["HEAD"]).success();
    let slowly = |options: &str| {
        let output = repo.shell(&format!("git-sluice {options} HEAD | {{ sleep 1; cat; }}"));
        assert!(output.stdout == expected, "{output}");
        output.messages()
    };
    assert_eq!(slowly(""), "");
    assert_eq!(slowly("--no-progress"), "");
    assert_eq!(slowly("--progress --no-progress"), "");
    assert_ne!(slowly("--progress"), "");
}
