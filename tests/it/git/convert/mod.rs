//! What attributes make of content: encodings, filters, `$Format:…$`. The oracle is the installed git;
//! what only a newer one does is skipped by version.
//!
//! Line endings and `$Id$` have fixtures of their own, see `oracle.rs`.

mod bases;
mod encodings;
mod filters;
mod substitution;

use std::fs;

use crate::support::tar_listing;
use crate::support::{Repo, git_version, import};

/// A repository with these attributes and files, committed as they are, with nothing cleaned.
fn repo(attributes: &str, files: &[(&str, &[u8])]) -> Repo {
    let repo = Repo::init();
    commit_files(&repo, attributes, files);
    repo
}

fn commit_files(repo: &Repo, attributes: &str, files: &[(&str, &[u8])]) {
    let attributes = (".gitattributes", attributes.as_bytes());
    let nodes = files.iter().chain([&attributes]);
    let all = import::files(nodes.map(|(name, content)| (name, import::file(content))));
    let message = "Subject of it\n\nBody of it.\n\nKey: value\n";
    let has_parent = repo.path().join(".git/refs/heads/main").exists();
    let parent = has_parent.then_some("main");
    let stream = import::commit("main", parent, message, &all);
    repo.git_with_input(
        [
            "-c",
            "fastimport.unpackLimit=100000",
            "fast-import",
            "--quiet",
        ],
        stream,
    );
    repo.git(["read-tree", "HEAD"]);
}

// --- working-tree-encoding ---

/// Ours says what git says, and fails as it fails; what was written before a failure is not complete.
#[track_caller]
fn assert_same_failure(repo: &Repo, args: &[&str]) {
    let (ours, theirs) = (repo.sluice(args), repo.archive(args));
    assert_eq!(ours.messages(), theirs.messages());
    assert_eq!(ours.code(), theirs.code(), "{ours}");
    assert_eq!(ours.code(), 128, "{ours}");
}

/// All of it at once, below the top of the work tree: export-subst is asked by the path from the root,
/// everything else by the path from there.
#[test]
fn conversions_in_a_sub_directory() {
    let repo = repo(
        "sub/a export-subst\n/b export-subst\na ident\nb text eol=crlf\n",
        &[
            ("sub/a", b"$Id$ $Format:%T$\n"),
            ("sub/b", b"$Format:%T$\n"),
        ],
    );
    fs::create_dir(repo.path().join("sub")).expect("our own");
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let id = repo.git(["rev-parse", "HEAD:sub/a"]);
    let sub = repo.at("sub");
    let archive = sub.sluice(["HEAD"]).success();
    let contents = tar_listing::records(&archive)
        .into_iter()
        .map(|record| String::from_utf8_lossy(record.data).into_owned());
    let contents: Vec<_> = contents.skip(1).collect();
    assert_eq!(
        contents,
        [format!("$Id: {id} $ {tree}\n"), "$Format:%T$\r\n".into()]
    );
    if git_version() >= (2, 41) {
        sub.assert_same(["HEAD"]);
    }
}

/// Many files of which some are done in order: the others lose nothing by it.
#[test]
fn a_mixture_in_order() {
    let mut files: Vec<(String, String)> = Vec::new();
    for number in 0..60 {
        let text = format!("{number} $Format:%h %s$ $Id$ \u{e4}\n").repeat(number * 10 + 1);
        files.push((format!("f{number:02}"), text));
    }
    let attributes = "* ident\n*3 export-subst\n*5 filter=f\n*7 working-tree-encoding=ASCII\n*9 export-subst filter=f\n";
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let repo = repo(attributes, &files).with(["-c", "filter.f.smudge=rev; echo said >&2"]);
    repo.assert_same(["-v", "HEAD"]);
}
