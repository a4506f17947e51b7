//! What is not there, what is too much, what may not be known, and what is not even read.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Files, History, executable, file, files, read_summary};
use crate::directory::apply::archive::found;
use crate::leftovers::temporary_directory;
use crate::support::process::Output;
use crate::support::{Repo, forge::lose};

const ENDS: [&str; 2] = ["old", "new"];

/// Something of every kind of change.
fn history() -> History {
    let old = files([("a", file("1")), ("b", file("1")), ("d/c", file("1"))]);
    let new = files([("a", file("2")), ("d/c", executable("1")), ("e", file("1"))]);
    History::new(&old, &new)
}

/// Nothing but a failure, whose first line this is, and a summary that says so.
#[track_caller]
fn assert_failure_is_summed_up(repo: &Repo, args: &[&str], code: i32, first: &str) {
    let directory = temporary_directory();
    let summary = directory.path().join("summary");
    let report = format!("--summary={}", summary.display());
    let output = repo.sluice([&[report.as_str()], args].concat());
    output.assert_refused(code, &[]);
    assert_eq!(output.messages().lines().next(), Some(first), "{output}");
    let summary = read_summary(&summary);
    assert_eq!(summary["complete"], false, "{summary}");
    assert_eq!(summary["bytes_out"], 0, "{summary}");
}

#[track_caller]
fn assert_no_base(repo: &Repo, base: &str, target: &str) {
    let first = format!("fatal: cannot read the base '{base}'");
    assert_failure_is_summed_up(repo, &[&format!("--base={base}"), target], 3, &first);
}

#[test]
fn a_base_that_is_not_there() {
    let History { repo, .. } = history();
    let blob = repo.git(["rev-parse", "old:a"]);
    let unknown = "7".repeat(40);
    for base in ["nothing", &unknown, "old:b/x", "old~1", &blob, ""] {
        assert_no_base(&repo, base, "new");
    }
    // The target is looked at first.
    let message = "fatal: not a valid object name: nothing\n";
    repo.sluice(["--base=none", "nothing"])
        .assert_failure(128, message);
}

#[test]
fn a_base_that_was_cut_off() {
    let History { repo, .. } = history();
    let old = repo.git(["rev-parse", "old"]);
    let source = format!("file://{}", repo.path().display());
    repo.git([
        "clone",
        "-q",
        "--depth=1",
        "--branch=new",
        &source,
        "shallow",
    ]);
    let shallow = repo.at("shallow");
    assert_no_base(&shallow, &old, "HEAD");
    assert_no_base(&shallow, "HEAD~1", "HEAD");
    let base = format!("--base={old}");
    let output = shallow.sluice([&base, "HEAD"]);
    let hint = format!(
        "hint: leave out --base to get a full archive, or run 'git fetch --depth=1 <remote> {old}' first"
    );
    assert_eq!(output.messages().lines().last(), Some(&hint[..]));
    let _ = shallow.git(["fetch", "--quiet", "--depth=1", "origin", &old]);
    let _ = shallow.sluice([&base, "HEAD"]).success();
}

#[test]
fn a_base_that_lacks_trees() {
    let History { repo, .. } = history();
    let id = lose(&repo, "old:d");
    let first = format!("fatal: unable to read tree ({id})");
    assert_failure_is_summed_up(&repo, &["--base=old", "new"], 3, &first);
    // What is needed of the target is not optional.
    assert_failure_is_summed_up(&repo, &["--base=new", "old"], 128, &first);
    lose(&repo, "old^{tree}");
    assert_no_base(&repo, "old", "new");
}

/// No blob of the base is needed.
#[test]
fn a_base_that_lacks_blobs() {
    let history = History::new(&files([("a", file("old"))]), &files([("a", file("new"))]));
    let directory = history.base("old", &[]).lay_down();
    lose(&history.repo, "old:a");
    let delta = history.delta(ENDS, &[]).success();
    super::apply(directory.path(), &delta);
    assert!(found(directory.path()) == history.extracted(&[], "new"));
}

/// One that is missing on both sides did not change.
#[test]
fn missing_blobs() {
    let old = files([("a", file("1")), ("b", file("2")), ("d/c", file("3"))]);
    let new = files([
        ("a", file("4")),
        ("b", file("2")),
        ("d/c", file("3")),
        ("d/e", file("5")),
    ]);
    let history = History::new(&old, &new);
    for lost in ["new:a", "new:b", "new:d/e"] {
        lose(&history.repo, lost);
    }
    let output = history.delta(ENDS, &[]);
    assert_eq!(output.code(), 255, "{output}");
    assert!(
        !crate::support::tar_listing::is_complete(&output.stdout),
        "{output}"
    );
    history
        .repo
        .git(["config", "remote.origin.promisor", "true"]);
    for (option, expected) in [
        ("--missing=omit", "D a 100644\n"),
        (
            "--missing=placeholder",
            "M a 100644 100644 placeholder missing\n\
             - d/ - 040000 content\n\
             A d/e - 100644 placeholder missing\n",
        ),
    ] {
        let told = history.assert_delta(ENDS, &[option]);
        assert_eq!(told, expected, "{option}");
        // There it is the base that lacks them.
        history.assert_delta(["new", "old"], &[option]);
        history.assert_delta(ENDS, &[option, "--max-size=9", "--large=empty"]);
    }
}

#[test]
fn too_much() {
    let History { repo, .. } = history();
    let args = |option| ["--base=old", option, "new"];
    for (option, limit) in [
        ("--max-changed-paths=3", 3),
        ("--max-changed-paths=0", 0),
        ("--max-changed-ratio=0.9", 2),
        ("--max-changed-ratio=99%", 2),
        ("--max-changed-ratio=0", 0),
    ] {
        let first = format!("fatal: more than {limit} paths changed since the base");
        assert_failure_is_summed_up(&repo, &args(option), 5, &first);
    }
    let _ = repo.sluice(args("--max-changed-paths=4")).success();
    // Of the three files of the target, four.
    let both = [
        "--base=old",
        "--max-changed-paths=9",
        "--max-changed-ratio=1",
        "new",
    ];
    assert_failure_is_summed_up(
        &repo,
        &both,
        5,
        "fatal: more than 3 paths changed since the base",
    );
    let selected = ["--base=old", "--max-changed-ratio=100%", "new", "--", "a"];
    let _ = repo.sluice(selected).success();
    let equal = ["--base=new", "--max-changed-paths=0", "new"];
    let _ = repo.sluice(equal).success();
}

#[test]
fn the_summary_counts_changes() {
    let summary = history().summary(ENDS, &[]);
    let changes = &summary["changes"];
    let counted = ["added", "modified", "deleted", "type_changed"].map(|kind| &changes[kind]);
    assert_eq!(counted, [1, 2, 1, 0], "{summary}");
    let summary = history().summary(ENDS, &["--ignore-mode-changes"]);
    assert_eq!(summary["changes"]["modified"], 1, "{summary}");
}

/// A tree with many directories of many files each, of which nobody changes one.
fn wide(rest: &[(&str, &str)]) -> Files {
    let kept = (0..20).map(|number| (format!("kept/{}/{number}", number / 5), file("x")));
    let rest = rest
        .iter()
        .map(|(path, text)| ((*path).to_owned(), file(text)));
    files(kept.chain(rest))
}

/// Without their commits, so that nothing expands.
const TREES: [&str; 2] = ["old^{tree}", "new^{tree}"];

fn directories_read(old: &[(&str, &str)], new: &[(&str, &str)], options: &[&str]) -> Value {
    let history = History::new(&wide(old), &wide(new));
    history.summary(TREES, options)["directories"]["read"].clone()
}

/// Except for two commits, whose ids may be in files there.
#[test]
fn equal_trees_are_not_read() {
    let (old, new) = (
        [("d/e/a", "1"), ("f/a", "3")],
        [("d/e/a", "2"), ("f/a", "3")],
    );
    // The root, d and d/e, on both sides.
    assert_eq!(directories_read(&old, &new, &[]), 6);
    assert_eq!(directories_read(&old, &old, &[]), 2);
    let prefixed = [
        "--prefix=p/",
        "--exclude=*.log",
        "--max-size=1",
        "--no-attributes",
    ];
    assert_eq!(directories_read(&old, &new, &prefixed), 6);
    assert_eq!(directories_read(&old, &new, &["--", "f"]), 2);

    let history = History::new(&wide(&old), &wide(&new));
    for lost in ["new:kept/0", "new:kept", "new:f"] {
        lose(&history.repo, lost);
    }
    for (ends, options) in [(TREES, &[][..]), (ENDS, &["--no-attributes"])] {
        let delta = history.delta(ends, options).success();
        assert!(crate::support::tar_listing::names(&delta).contains(&"d/e/a".to_owned()));
    }
    history
        .delta(ENDS, &[])
        .assert_refused(3, &["unable to read tree"]);
    assert_eq!(history.repo.sluice(["new"]).code(), 128);
}

#[test]
fn equal_trees_are_read_where_rules_differ() {
    let old = [
        ("d/e/a", "1"),
        (".gitattributes", "x -text\n"),
        (".ignore", "y\n"),
    ];
    let mut new = old;
    new[1].1 = "y -text\n";
    // The root, d, d/e, kept and the four in it.
    assert_eq!(directories_read(&old, &new, &[]), 16);
    assert_eq!(directories_read(&old, &new, &["--no-attributes"]), 2);
    let mut new = old;
    new[2].1 = "x\n";
    assert_eq!(directories_read(&old, &new, &[]), 2);
    assert_eq!(
        directories_read(&old, &new, &["--exclude-from-tree=.ignore"]),
        16
    );
    // Attributes below count there only.
    let below = [("kept/.gitattributes", "y -text\n")];
    assert_eq!(directories_read(&[], &below, &[]), 12);
}

/// All that can be heard of a delta.
fn heard(history: &History, options: &[&str], directory: &Path) -> Vec<u8> {
    let [manifest, summary] = ["manifest", "summary"].map(|name| directory.join(name));
    let reports = [
        format!("--manifest={}", manifest.display()),
        format!("--summary={}", summary.display()),
    ];
    let reports = reports.each_ref().map(String::as_str);
    let Output { stdout, stderr, .. } = history.delta(ENDS, &[&reports, options].concat());
    let read = |path| fs::read(path).unwrap_or_default();
    [stdout, stderr, read(manifest), read(summary)].concat()
}

#[test]
fn what_is_denied_is_never_told_of() {
    let secret = |path: &str, content: &str| (path.to_owned(), file(content));
    let open = |content: &str| {
        [
            ("open/a".to_owned(), file(content)),
            ("b".to_owned(), file(content)),
        ]
    };
    let old = files(open("1").into_iter().chain([
        secret("secret/deleted", "top"),
        secret("secret/changed", "top-1"),
        secret("secret/moved/a", "top"),
        secret("open/secret", "top-3"),
        secret("only/secret", "top-4"),
    ]));
    let new = files(open("2").into_iter().chain([
        secret("secret/changed", "top-2"),
        secret("secret/added", "top-5"),
        secret("secret/else/a", "top"),
        secret("open/secret", "top-6"),
        (".ignore".to_owned(), file("s*t/*\n")),
    ]));
    let history = History::new(&old, &new);
    let own = temporary_directory();
    let rules = own.path().join("rules");
    fs::write(&rules, "/**\n-/secret/**\n-/**/secret\n").expect("our own");
    let rules = format!("--access-rules={}", rules.display());

    let mut words: Vec<String> = ["secret", "only", "top", "moved", "else"]
        .map(str::to_owned)
        .into();
    for end in ENDS {
        let list = history
            .repo
            .git(["ls-tree", "-rt", end, "secret", "open/secret", "only"]);
        // The id of a directory of which a part is allowed is as little of a secret as the commit's.
        let denied = list.lines().filter(|line| !line.ends_with("\topen"));
        let ids = denied.filter_map(|line| line.split([' ', '\t']).nth(2));
        words.extend(ids.map(str::to_owned));
    }
    let assert_silent = |heard: &[u8], typed: &[&str]| {
        for word in &words {
            // The one that was typed is no secret.
            let is_typed = typed.contains(&word.as_str());
            let found = heard
                .windows(word.len())
                .any(|bytes| bytes == word.as_bytes());
            assert!(is_typed || !found, "{typed:?} tell of {word}");
        }
    };
    for options in [
        &["-v"][..],
        &["-v", "--deletions=none"],
        &["--max-changed-ratio=1"],
        &["--max-changed-paths=0"],
        &["--exclude-from-tree=.ignore"],
        &["--", "secret"],
        &["--pax-notes", "--prefix=p/", "--profile=zoekt"],
    ] {
        let heard = heard(&history, &[&[rules.as_str()], options].concat(), own.path());
        assert_silent(&heard, options);
    }
    for command in ["ls", "info", "missing"] {
        let words = [command, &rules, "--base=old", "new"];
        let output = history.repo.sluice(words);
        assert_silent(&[output.stdout, output.stderr].concat(), &words);
    }
    let told = history.assert_delta(ENDS, &[&rules]);
    assert!(told.contains("M open/a") && told.contains("M b "), "{told}");
    let summary = history.summary(ENDS, &[&rules]);
    assert_eq!(summary["changes"]["modified"], 2, "{summary}");
    assert_eq!(summary["changes"]["deleted"], 0, "{summary}");
}
