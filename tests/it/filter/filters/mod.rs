//! Filters through the command: what was asked for shows in the archive, in its reports and on
//! stderr, and nothing else does.
//!
//! What a single pattern matches is for `vectors`, the unit tests of the matchers, and `filter_globs.rs`.

mod access;
mod agreement;
mod descriptors;
mod exclude;
mod forms;
mod ignore;
mod missing;
mod preview;
mod profiles;
mod reports;
mod size;
mod stream;
mod vectors;

use std::fs;

use crate::support::Repo;
use crate::support::forge;
use crate::support::tar_listing;

/// Where the fixture keeps its rules, which mean the same in both grammars.
const IGNORE_FILE: &str = "--exclude-from-tree=.sourcegraph/ignore";
/// Has the rules of that file, in the grammar of Sourcegraph.
const GRAMMAR: &str = "--profile=zoekt";
/// What they ignore there.
const IGNORED: [&str; 4] = [
    "ignored/a",
    "ignored/deep/b",
    "kept/testdata/data",
    "x.min.js",
];

/// The names in the archive that these arguments give, with HEAD at their end.
#[track_caller]
fn names(repo: &Repo, args: &[&str]) -> Vec<String> {
    let args = args.iter().chain(&["HEAD"]);
    tar_listing::names(&repo.sluice(args).success())
}

/// The same without directories.
#[track_caller]
fn files(repo: &Repo, args: &[&str]) -> Vec<String> {
    let mut names = names(repo, args);
    names.retain(|name| !name.ends_with('/'));
    names
}

/// A commit of HEAD's tree without `paths`, at the same time.
#[track_caller]
fn commit_without(repo: &Repo, paths: &[&str]) -> String {
    let index = repo.path().join(".git/another-index");
    let repo = repo.clone().env("GIT_INDEX_FILE", index);
    repo.git(["read-tree", "HEAD"]);
    repo.git(["rm", "-rq", "--cached", "--"].iter().chain(paths));
    let tree = repo.git(["write-tree"]);
    repo.git(["commit-tree", "-m", "without", &tree])
}

/// git's archive of `commit`, as if it were called `name`.
#[track_caller]
fn archive_under(repo: &Repo, format: &str, commit: &str, name: &str) -> Vec<u8> {
    let mut archive = repo.archive([format, commit]).success();
    for at in 0..=archive.len() - commit.len() {
        if archive[at..].starts_with(commit.as_bytes()) {
            archive[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
    }
    archive
}

/// Make loose objects of all that is in packs.
fn unpack(repo: &Repo) {
    let directory = repo.path().join(".git/objects/pack");
    for file in fs::read_dir(directory).expect("it has packs") {
        let path = file.expect("readable").path();
        let bytes = fs::read(&path).expect("our own");
        fs::remove_file(&path).expect("our own");
        if path
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            repo.git_with_input(["unpack-objects", "-q"], bytes);
        }
    }
}

/// Leave nothing of a loose blob but the header that says how large it is.
fn spoil(repo: &Repo, object: &str) {
    let size = repo.git(["cat-file", "-s", object]);
    let id = forge::lose(repo, object);
    forge::loose(repo, &id, format!("blob {size}\0").as_bytes());
}

/// Every blob that HEAD holds, so spoilt.
fn spoil_all(repo: &Repo) {
    let listing = repo.git(["ls-tree", "-r", "HEAD"]);
    let mut ids: Vec<&str> = listing
        .lines()
        .filter(|line| !line.starts_with("160000"))
        .map(|line| &line[12..52])
        .collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        spoil(repo, id);
    }
}
