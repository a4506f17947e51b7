//! Attribute files that cannot be read. What they keep out of the archive must not be sent.

use std::fs;

use super::assert_orderly_failure;
use crate::support::Repo;
use crate::support::forge::{self, BLOB, Pack, entry_header, loose, loose_file, lose};
use crate::support::process::Output;

const RULE: &str = "secret export-ignore\n";

/// A repository with attribute files at the top and in `d`, which ignore the files called `secret`.
fn with_secrets() -> Repo {
    let repo = Repo::init();
    fs::create_dir(repo.path().join("d")).expect("our own");
    for (name, text) in [
        (".gitattributes", RULE),
        ("d/.gitattributes", "inner export-ignore\n"),
        ("secret", "secret\n"),
        ("plain", "plain\n"),
        ("d/inner", "secret\n"),
        ("d/plain", "plain\n"),
    ] {
        repo.write(name, text);
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "-m", "secrets"]);
    repo
}

/// Only what is not an attribute file, which would fail for itself.
const FILES: [&str; 4] = ["HEAD", "secret", "plain", "d/plain"];

#[track_caller]
fn assert_silent_about_secrets(output: &Output) {
    assert_orderly_failure(output);
    let leaked = output.stdout.windows(6).any(|bytes| bytes == b"secret");
    assert!(!leaked, "{output}");
}

/// Every way in which the attribute file at the top is read.
#[track_caller]
fn assert_every_reader_refuses(repo: &Repo) {
    assert_silent_about_secrets(&repo.sluice(FILES));
    assert_silent_about_secrets(&repo.sluice(["HEAD"]));
    assert_silent_about_secrets(&repo.sluice(["HEAD", ":(attr:!export-ignore)plain"]));
    let zip = repo.sluice(["--format=zip", "--add-virtual-file=x:y", "HEAD", "plain"]);
    assert_eq!(zip.code(), 128, "{zip}");
    let named = repo.clone().env("GIT_ATTR_SOURCE", "HEAD");
    let mut from_tree = vec!["--worktree-attributes"];
    from_tree.extend(FILES);
    assert_silent_about_secrets(&named.sluice(from_tree));
    // There the conversion is looked up with the attributes at the top.
    assert_silent_about_secrets(&repo.clone().at("d").sluice(["HEAD", "plain"]));
    let mut delta = vec!["--base=HEAD^{tree}"];
    delta.extend(FILES);
    assert_eq!(repo.sluice(["explain", "HEAD", "plain"]).code(), 128);
    assert_ne!(repo.sluice(delta).code(), 0);
    assert_ne!(repo.served(["--remote=.", "HEAD", "plain"]).code(), 0);
}

#[test]
fn damaged_loose_attribute_files() {
    let repo = with_secrets();
    let file = loose_file(&repo, "HEAD:.gitattributes");
    let whole = fs::read(&file).expect("our own");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    fs::remove_file(&file).expect("our own");
    for bytes in [&whole[..whole.len() / 2], &flipped, b""] {
        fs::write(&file, bytes).expect("our own");
        assert_every_reader_refuses(&repo);
        let output = repo.sluice(FILES);
        let message = output.messages();
        let expected = "fatal: cannot read attribute file '.gitattributes'\n";
        assert!(message.starts_with(expected), "{output}");
        assert_eq!((output.code(), repo.archive(FILES).code()), (128, 128));
    }
}

#[test]
fn damaged_packed_attribute_files() {
    let repo = with_secrets();
    let id = lose(&repo, "HEAD:.gitattributes");
    let header = entry_header(BLOB, RULE.len() as u64);
    Pack::new().entry(&id, &header, b"nothing").write(&repo);
    assert_every_reader_refuses(&repo);
}

/// git ignores attribute files of 100 MB, and a damaged header can claim as much.
#[test]
fn attribute_files_that_claim_to_be_large() {
    let repo = with_secrets();
    let id = lose(&repo, "HEAD:.gitattributes");
    let claim = 200 << 20;
    loose(&repo, &id, format!("blob {claim}\0{RULE}").as_bytes());
    assert_silent_about_secrets(&repo.sluice(FILES));
    fs::remove_file(loose_file(&repo, &id)).expect("our own");
    Pack::new()
        .whole(&id, BLOB, claim, RULE.as_bytes())
        .write(&repo);
    assert_silent_about_secrets(&repo.sluice(FILES));
}

#[test]
fn a_missing_attribute_file_is_empty() {
    let repo = with_secrets();
    let id = lose(&repo, "HEAD:.gitattributes");
    repo.assert_same_archive(FILES);
    // Its directory is a file: nothing can be there.
    let directory = loose_file(&repo, &id);
    let directory = directory.parent().expect("in a directory");
    if fs::remove_dir(directory).is_ok() {
        fs::write(directory, "").expect("our own");
        repo.assert_same_archive(FILES);
    }
}

/// Where missing files are no failure, nothing else would tell that the rules are not known.
#[test]
fn an_archive_without_missing_files_needs_attribute_files() {
    for directory in ["", "d/"] {
        let repo = with_secrets();
        repo.git(["config", "remote.origin.promisor", "true"]);
        let id = lose(&repo, &format!("HEAD:{directory}.gitattributes"));
        for missing in ["--missing=omit", "--missing=placeholder"] {
            let output = repo.sluice([missing].iter().chain(&FILES));
            assert_silent_about_secrets(&output);
            let expected = format!(
                "fatal: cannot read attribute file '{directory}.gitattributes'\n\
                 caused by: object does not exist\n\
                 hint: in a partial clone, \
                 'git cat-file -p <tree-ish>:{directory}.gitattributes' fetches it, and --no-attributes works without it\n"
            );
            output.assert_ends(128, &expected);
            let list = repo.sluice(["missing", missing, "HEAD"]);
            let text = String::from_utf8_lossy(&list.stdout);
            assert!(list.code() == 9 && text.contains(&id), "{list}");
            // There no attribute counts.
            assert_eq!(repo.sluice([missing, "--no-attributes", "HEAD"]).code(), 0);
        }
        assert_eq!(repo.sluice(["--missing=error", "HEAD", "plain"]).code(), 0);
    }
}

#[test]
fn an_inaccessible_attribute_file_is_not_missing() {
    let repo = with_secrets();
    let id = forge::blob(&repo, RULE);
    let file = loose_file(&repo, &id);
    let directory = file.parent().expect("in a directory").display();
    let script = format!("chmod 000 {directory} && git-sluice HEAD secret plain");
    let Some(output) = repo.unprivileged_shell(&script) else {
        return;
    };
    let shown = file.display();
    let message = format!("fatal: loose object {shown} cannot be accessed: Permission denied\n");
    output.assert_failure(128, &message);
}

#[test]
fn attribute_files_of_the_user_that_cannot_be_read() {
    let repo = with_secrets();
    // Reading the memory of a process where nothing is fails.
    repo.clone()
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.attributesFile")
        .env("GIT_CONFIG_VALUE_0", "/proc/self/mem")
        .sluice(["HEAD"])
        .assert_failure(
            128,
            "fatal: cannot read attribute file '/proc/self/mem'\ncaused by: Input/output error\n",
        );
}
