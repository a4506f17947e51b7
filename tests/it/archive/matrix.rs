//! Every attribute that changes contents, with every kind of content, under every configuration that
//! has a say: one repository that holds all pairs, archived once for each configuration and format.

use crate::support::{Repo, cases, git_version, installed, skip};
use crate::support::{tar_listing, zip};

/// Each with each. An empty one is not set.
const AUTOCRLF: [&str; 4] = ["", "true", "input", "false"];
const EOL: [&str; 3] = ["", "lf", "crlf"];

/// tar for the contents, zip for what it says about them besides.
const FORMATS: [&str; 2] = ["--format=tar", "--format=zip"];

fn set(repo: Repo, key: &str, value: &str) -> Repo {
    if value.is_empty() {
        return repo;
    }
    repo.with(["-c", &format!("{key}={value}")])
}

/// With one thread and with many, which race for what is to be in order.
#[track_caller]
fn same(repo: &Repo, revision: &str) {
    for (format, threads) in FORMATS.into_iter().zip([&["1", "8"][..], &["2"]]) {
        repo.assert_same_within(threads, &["8m"], [format, revision]);
    }
}

/// The same words and status, and nothing that passes for an archive; how much of it was written by
/// then is nobody's business.
#[track_caller]
fn fails_alike(repo: &Repo, revision: &str) {
    for format in FORMATS {
        let (ours, theirs) = (
            repo.sluice([format, revision]),
            repo.archive([format, revision]),
        );
        let same = ours.messages() == theirs.messages() && ours.code() == theirs.code();
        assert!(same, "ours\n{ours}\n\nshould be\n{theirs}");
        assert_eq!(ours.code(), 128, "{ours}");
        let complete =
            tar_listing::is_complete(&ours.stdout) || !zip::entries(&ours.stdout).is_empty();
        assert!(!complete, "it looks complete\n{ours}");
    }
}

/// Under all configurations.
#[track_caller]
fn same_everywhere(revision: &str) {
    for autocrlf in AUTOCRLF {
        for eol in EOL {
            let repo = set(Repo::from("matrix"), "core.autocrlf", autocrlf);
            same(&set(repo, "core.eol", eol), revision);
        }
    }
    same_around_thresholds(revision);
}

/// What is above the threshold is not converted, and only then the size decides.
#[track_caller]
fn same_around_thresholds(revision: &str) {
    for threshold in ["1", "12", "1k"] {
        let repo = set(Repo::from("matrix"), "core.bigFileThreshold", threshold);
        same(&set(repo, "core.autocrlf", "true"), revision);
    }
}

/// Where line ends matter little, some configurations are as good as all.
#[track_caller]
fn same_mostly(revision: &str) {
    same(&Repo::from("matrix"), revision);
    same(
        &set(Repo::from("matrix"), "core.autocrlf", "true"),
        revision,
    );
    same(&set(Repo::from("matrix"), "core.eol", "crlf"), revision);
    same_around_thresholds(revision);
}

#[test]
#[ignore = "slow"]
fn line_ends() {
    same_everywhere("line-ends");
}

#[test]
fn encodings() {
    same_mostly("encodings");
}

/// Not everything can be said in ASCII, and some names name nothing.
#[test]
fn encodings_that_fail() {
    same(&Repo::from("matrix"), "encoding-ascii");
    same(&Repo::from("matrix"), "encoding-unset");
    fails_alike(&Repo::from("matrix"), "encoding-set");
}

#[test]
#[ignore = "slow"]
fn smudge_filters() {
    same_mostly("smudge");
}

#[test]
#[ignore = "slow"]
fn process_filters() {
    if installed("python3") {
        same_mostly("process");
    }
}

#[test]
fn required_filters_that_fail() {
    for revision in ["needed-failing", "needed-nothing"] {
        fails_alike(&Repo::from("matrix"), revision);
        let large = set(Repo::from("matrix"), "core.bigFileThreshold", "1");
        same(&large, revision);
    }
}

/// Since 2.55 it fails as any other filter does; before, it ended the run.
#[test]
fn a_filter_process_that_dies() {
    let repo = Repo::from("matrix");
    if git_version() >= (2, 55) {
        same(&repo, "process-dies");
    } else {
        skip("this git dies of it, and is not compared");
    }
    let output = repo.sluice(["process-dies"]);
    let command = "head -c 40 >/dev/null; exit 3";
    let messages = format!(
        "error: could not read greeting from subprocess '{command}'\n\
         error: initialization for subprocess '{command}' failed\n"
    );
    assert_eq!((output.code(), output.messages()), (0, messages));
    let large = set(repo, "core.bigFileThreshold", "1");
    same(&large, "process-dies");
}

#[test]
#[ignore = "slow"]
fn export_subst() {
    same_mostly("subst");
    same(&Repo::from("matrix"), "subst^{tree}");
    same(&set(Repo::from("matrix"), "core.abbrev", "12"), "subst");
}

/// Only zip files say what is text.
#[test]
fn diff() {
    same_mostly("diff");
    for setting in cases("diff.text.binary=true | diff.default.binary=true | diff.data.binary=bad")
    {
        same(&Repo::from("matrix").with(["-c", setting]), "diff");
    }
}
