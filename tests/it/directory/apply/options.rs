//! Deltas that were made with other options than the directory that they are applied to.

use super::archive::{Archive, Tree, delta, delta_with, file, tree};
use super::{FILTERS, FROM, TO, Target, applying, laid_down};
use crate::support::{Repo, noise};

const OTHER: &str = "0123456789012345678901234567890123456789012345678901234567890123";
const REFUSED: &str = "cannot apply: the archive was created with other options than the directory";

fn small() -> (Tree, Tree) {
    let base = tree([("changed", file("old\n")), ("deleted", file("old\n"))]);
    let target = tree([("changed", file("new\n")), ("new", file("new\n"))]);
    (base, target)
}

#[test]
fn deltas_agree_about_their_filters() {
    let (base, target) = small();
    let there = |filters| delta_with(filters, [FROM, TO], [&base, &target]);
    let back = |filters| delta_with(filters, [TO, FROM], [&target, &base]);
    let directory = laid_down(FROM, &base);
    let _ = directory.apply(&there(FILTERS)).success();
    let state = format!("holds {TO} filters={FILTERS}\n");
    assert_eq!(directory.state(), state);
    for archive in [back(OTHER), there(OTHER)] {
        let output = directory.apply(&archive);
        directory.assert_not_applied(&output, REFUSED, &state);
        let cause = format!(
            "caused by: its filters have the hash {OTHER}, those of the directory {FILTERS}\n\
             hint: apply a full archive with the options of the delta\n"
        );
        assert!(output.messages().ends_with(&cause), "{output}");
    }
    directory.assert_holds(TO, &target);
    let _ = directory.apply(&back(FILTERS)).success();
    let _ = directory.apply(&there(FILTERS)).success();
    // A full archive of any options replaces everything.
    let _ = directory.apply(&Archive::of_tree(FROM, &base)).success();
    assert_eq!(directory.state(), format!("holds {FROM}\n"));
    let _ = directory.apply(&there(OTHER)).success();
    assert_eq!(directory.state(), format!("holds {TO} filters={OTHER}\n"));
    // Where nothing is known of a delta, nothing is known of the directory.
    let _ = directory.apply(&back("none")).success();
    assert_eq!(directory.state(), format!("holds {FROM}\n"));
}

/// Also of the archive that an interrupted run goes on with.
#[test]
fn an_interrupted_delta_keeps_its_filters() {
    let (base, target) = small();
    let directory = laid_down(FROM, &base);
    let state = format!("applying {FROM} {TO} filters={FILTERS}\n");
    directory.set_state(&state);
    let other = delta_with(OTHER, [FROM, TO], [&base, &target]);
    directory.assert_not_applied(&directory.apply(&other), REFUSED, &state);
    let same = delta_with(FILTERS, [FROM, TO], [&base, &target]);
    directory.assert_brings(&same, TO, &target);
}

#[test]
fn a_full_archive_may_note_its_filters() {
    let (base, target) = small();
    let full = Archive::full(FROM).global(&[("GITSLUICE.filters", FILTERS.as_bytes())]);
    let full = base
        .iter()
        .fold(full, |archive, (path, node)| archive.node(path, node))
        .end();
    let directory = Target::empty();
    let _ = directory.apply(&full).success();
    let state = format!("holds {FROM} filters={FILTERS}\n");
    assert_eq!(directory.state(), state);
    let other = delta_with(OTHER, [FROM, TO], [&base, &target]);
    directory.assert_not_applied(&directory.apply(&other), REFUSED, &state);
    let same = delta_with(FILTERS, [FROM, TO], [&base, &target]);
    directory.assert_brings(&same, TO, &target);
}

/// Nobody knows the filters of the directory, but its list lacks a file that the base has.
#[test]
fn a_base_with_other_files() {
    let (base, target) = small();
    for (missing, in_base) in [("changed", "changed"), ("deleted", "deleted")] {
        let mut few = base.clone();
        few.remove(missing.as_bytes());
        for filters in [FILTERS, "none"] {
            let archive = delta_with(filters, [FROM, TO], [&base, &target]);
            let directory = laid_down(FROM, &few);
            let output = directory.apply_with(&["--overwrite", "-"], &archive);
            directory.assert_not_applied(&output, REFUSED, &format!("holds {FROM}\n"));
            let cause =
                format!("caused by: its base has '{in_base}', which no archive wrote here\n");
            assert!(output.messages().contains(&cause), "{output}");
            directory.assert_holds(FROM, &few);
            // A run that goes on has deleted or written it already.
            directory.set_state(&applying(FROM, TO));
            directory.assert_brings(&archive, TO, &target);
        }
    }
    // The first versions did not say what is new.
    let mut few = base.clone();
    few.remove(&b"deleted"[..]);
    let directory = laid_down(FROM, &few);
    let output = directory.apply(&delta([FROM, TO], [&base, &target]));
    directory.assert_not_applied(&output, REFUSED, &format!("holds {FROM}\n"));
    // With the hash, the options are the same: the base may have left out the file because of its content.
    let directory = laid_down(FROM, &few);
    directory.set_state(&format!("holds {FROM} filters={FILTERS}\n"));
    let archive = delta_with(FILTERS, [FROM, TO], [&base, &target]);
    directory.assert_brings(&archive, TO, &target);
}

/// A repository whose second commit adds, changes and deletes files, also binary ones.
fn two_commits() -> Repo {
    let repo = Repo::init();
    let commit = |script: &str, tag: &str| {
        repo.script(script);
        repo.commit("-A", tag);
        repo.git(["tag", tag]);
    };
    repo.write("large", noise(1, 5000));
    commit(
        "mkdir src docs && echo 1 >src/main.c && echo 1 >docs/page && echo 1 >gone && printf 'a\\0' >binary && printf 'a\\0' >was",
        "r1",
    );
    commit(
        "echo 2 >src/main.c && echo 2 >docs/page && rm gone was && echo new >new && printf 'b\\0' >binary",
        "r2",
    );
    repo
}

/// The options of one archive and of the next do not fit, and nothing changes.
#[test]
fn archives_of_a_repository_made_with_other_options() {
    let repo = two_commits();
    for (number, (full, changes)) in [
        ("", "--prefix=htdocs/"),
        ("--prefix=htdocs/", ""),
        ("--exclude=docs", ""),
        ("--max-size=1", ""),
        ("--binary=omit", ""),
        ("--pax-notes", ""),
        ("--pax-notes", "--pax-notes --exclude=large"),
        ("--pax-notes --exclude=large", "--pax-notes"),
    ]
    .into_iter()
    .enumerate()
    {
        let directory = format!("m{number}");
        let first = format!("git sluice {full} r1 | git sluice apply {directory}");
        repo.script(&first);
        let listing = || repo.shell(&format!("ls -lR {directory}; cat {directory}/.git*"));
        let before = listing().success();
        let second = format!("git sluice --base=r1 {changes} r2 | git sluice apply {directory}");
        repo.shell(&second).assert_refused(128, &[REFUSED]);
        assert!(listing().success() == before, "{full} {changes}");
        let verify = format!("git sluice verify {directory}");
        repo.script(&verify);
    }
}

#[test]
fn archives_of_a_repository_made_with_the_same_options() {
    let repo = two_commits();
    for (number, options) in [
        "",
        "--prefix=htdocs/",
        "--exclude=docs",
        "--max-size=1",
        "--binary=omit",
        "--binary=empty",
        "--pax-notes",
        "--pax-notes --binary=omit",
        "--worktree-attributes",
        "--no-attributes --symlinks=file",
    ]
    .into_iter()
    .enumerate()
    {
        let script = format!(
            "git sluice {options} r1 | git sluice apply a{number} &&
             git sluice {options} --base=r1 r2 | git sluice apply a{number} &&
             git sluice {options} --base=r2 r1 | git sluice apply a{number} &&
             git sluice {options} --base=r1 r2 | git sluice apply a{number} &&
             git sluice verify a{number} &&
             git sluice {options} r2 | git sluice apply b{number} &&
             rm -f [ab]{number}/.git-sluice* && diff -r a{number} b{number}"
        );
        assert_eq!(repo.shell(&script).messages(), "", "{options}");
    }
}

/// Without options of ours, the bytes are git's. A delta says what is new, and so does an archive with notes.
#[test]
fn archives_that_note_their_filters() {
    let repo = two_commits();
    let noted = |words: &str| {
        let script = format!("git sluice {words} | grep -ao 'GITSLUICE.[adf].*'");
        let lines = String::from_utf8(repo.shell(&script).stdout).expect("text");
        let short = |line: &str| match line.split_once('=') {
            Some((key, value)) if value.len() == 64 => format!("{key} "),
            _ => format!("{line} "),
        };
        lines.lines().map(short).collect::<String>()
    };
    assert_eq!(noted("r2"), "");
    assert_eq!(noted("--exclude=docs r2"), "");
    assert_eq!(noted("--pax-notes r2"), "GITSLUICE.filters ");
    assert_eq!(
        noted("--base=r1 r2"),
        "GITSLUICE.delta=1 GITSLUICE.deletions=pax GITSLUICE.filters \
         GITSLUICE.delete.1=gone GITSLUICE.delete.2=was GITSLUICE.add.1=new "
    );
    assert_eq!(
        noted("--base=r1 --deletions=none --worktree-attributes r2"),
        "GITSLUICE.delta=1 GITSLUICE.deletions=none GITSLUICE.filters=none "
    );
    // What its content may leave out, the base may lack.
    assert_eq!(
        noted("--base=r1 --binary=omit r2 binary was gone"),
        "GITSLUICE.delta=1 GITSLUICE.deletions=pax GITSLUICE.filters \
         GITSLUICE.delete.1=binary GITSLUICE.delete.2=gone GITSLUICE.delete.3=was \
         GITSLUICE.add.1=binary GITSLUICE.add.2=gone GITSLUICE.add.3=was "
    );
}
