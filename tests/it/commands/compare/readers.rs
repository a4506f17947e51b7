//! Whatever `compare` accepts, every reader that is installed writes as the commit has it: honest archives of many writers, and
//! random mutations of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Repo, go_environment, installed, rounds, skip};

/// What the archives in `fixtures/archives/short` hold, below `p`. Their writers know no long names.
const SHORT: &str = "mkdir -p p/src && cd p && echo one >a.txt && printf '#!/bin/sh\\n' >run && chmod 755 run && ln -s a.txt link && \
                     head -c 700 /dev/zero | tr '\\0' x >src/c && : >empty";
/// What those in `fixtures/archives/honest` hold besides.
const LONG: &str = "n=$(printf 'n%.0s' $(seq 120)) && mkdir p/src/$n && cd p && echo long >src/$n/$n && ln -s src/$n/$n longlink";
/// The commit of either.
const COMMIT: &str = "git --git-dir=.git --work-tree=p add . && git --git-dir=.git commit -qm one && mkdir -p .git/same .git/mutated .git/programs";
/// The mutations that a quick run makes.
const QUICK: u64 = 200;
const ALL: u64 = 20_000;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/commands/compare/archives.py")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/archives")
        .join(name)
}

fn repository(trees: &[&str]) -> Repo {
    let repo = Repo::init();
    for commands in trees.iter().chain(&[COMMIT]) {
        let _ = repo.shell(commands).success();
    }
    build_go(&repo);
    repo
}

/// The archives of a folder, by name.
fn archives(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    paths
}

/// Where an `archive` has to be for the judge.
fn judged(repo: &Repo, archive: &Path) -> PathBuf {
    let name = archive.file_name().expect("a file");
    repo.path().join(".git/same").join(name)
}

/// Builds a reader from Go's standard library.
fn build_go(repo: &Repo) {
    if !installed("go") {
        return;
    }
    let mut go = repo.command("go");
    go.envs(go_environment()).env("GO111MODULE", "off");
    go.args(["build", "-o", ".git/programs/go"]);
    let built = go.arg(script().with_file_name("extract.go")).status();
    assert!(built.expect("go starts").success());
}

/// Lets all readers extract the archives in `.git/same`, none of which writes other files without an error.
fn assert_read_alike(repo: &Repo) {
    let mut judge = repo.command("python3");
    judge
        .arg(script())
        .args(["judge", "p", ".git/same", ".git/programs"]);
    let said = judge.output().expect("python3 starts");
    let lines = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success(), "{said:?}");
    let (missing, rest): (Vec<_>, Vec<_>) =
        lines.lines().partition(|line| line.starts_with("missing "));
    for line in missing {
        skip(&format!("{} is not installed", &line["missing ".len()..]));
    }
    assert_eq!(rest, ["judged"]);
}

#[test]
fn honest_archives_have_no_doubt() {
    for (name, trees) in [("short", &[SHORT][..]), ("honest", &[SHORT, LONG])] {
        let repo = repository(trees);
        for archive in archives(&folder(name)) {
            let output = repo.sluice(["compare", archive.to_str().expect("ours"), "HEAD"]);
            assert_eq!(output.code(), 0, "{}\n{output}", archive.display());
            fs::copy(&archive, judged(&repo, &archive)).expect("our own");
        }
        assert_read_alike(&repo);
    }
}

/// Mutations with the numbers from `first` on.
fn assert_mutations(first: u64, count: u64) {
    let repo = repository(&[SHORT, LONG]);
    let mut mutate = repo.command("python3");
    let (first, count) = (first.to_string(), count.to_string());
    mutate.arg(script()).arg("mutate").arg(folder("honest"));
    let made = mutate.args([&first, &count, ".git/mutated"]).status();
    assert!(made.expect("python3 starts").success());
    for archive in archives(&repo.path().join(".git/mutated")) {
        let output = repo.sluice(["compare", archive.to_str().expect("ours"), "HEAD"]);
        assert!(
            matches!(output.code(), 0 | 1 | 9 | 11 | 128),
            "{}\n{output}",
            archive.display()
        );
        if output.code() == 0 {
            fs::rename(&archive, judged(&repo, &archive)).expect("our own");
        }
    }
    assert_read_alike(&repo);
}

#[test]
fn mutations_are_read_alike() {
    assert_mutations(0, QUICK);
}

#[test]
#[ignore = "slow"]
fn many_mutations_are_read_alike() {
    let count = rounds(ALL);
    for first in (QUICK..count).step_by(1000) {
        assert_mutations(first, 1000.min(count - first));
    }
}
