//! Packs that are there, and that the system does not let us read: what is in them is not missing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::support::{Repo, cases, forge::packed};

/// One commit upon the other, each with its file in a pack of its own: the path of the first.
fn packed_one_by_one(repo: &Repo) -> PathBuf {
    let mut first = PathBuf::new();
    for name in ["b", "a"] {
        repo.write(name, name);
        repo.git(["add", "."]);
        repo.git(["commit", "-qm", name]);
        repo.git(["repack", "-dq"]);
        if name == "b" {
            first = packed(repo, "pack");
        }
    }
    first
}

#[test]
fn files_of_packs_that_may_not_be_read() {
    for (extension, what) in [("pack", "packfile"), ("idx", "index file")] {
        for args in
            cases("HEAD | HEAD~1 | --missing=omit HEAD | --profile=zoekt HEAD | --base=HEAD~1 HEAD")
        {
            let repo = Repo::init();
            let file = packed_one_by_one(&repo).with_extension(extension);
            let shown = file.display();
            let script = format!("chmod 000 {shown} && git-sluice {args}");
            let Some(output) = repo.unprivileged_shell(&script) else {
                return;
            };
            let message = format!("fatal: {what} {shown} cannot be accessed: Permission denied\n");
            output.assert_failure(128, &message);
        }
    }
}

#[test]
fn another_copy_serves() {
    let repo = Repo::init();
    let file = packed_one_by_one(&repo);
    let expected = repo.archive(["HEAD"]).success();
    let pack = fs::read(&file).expect("our own");
    let shown = file.display();
    let aside = repo.path().join("aside");
    fs::rename(&file, &aside).expect("our own");
    repo.git_with_input(["unpack-objects", "-q"], pack);
    fs::rename(&aside, &file).expect("our own");
    let script = format!("chmod 000 {shown} && git-sluice HEAD");
    if let Some(output) = repo.unprivileged_shell(&script) {
        assert!(output.success() == expected);
    }
}

#[test]
fn packs_that_cannot_be_mapped() {
    let repo = Repo::init();
    let file = packed_one_by_one(&repo);
    // A gigabyte of nothing between the objects and the checksum.
    let bytes = fs::read(&file).expect("our own");
    let (objects, checksum) = bytes.split_at(bytes.len() - 20);
    fs::remove_file(&file).expect("our own");
    let grown = File::create_new(&file).expect("removed just now");
    grown.write_all_at(objects, 0).expect("our own");
    grown.write_all_at(checksum, 1 << 30).expect("our own");

    let id = repo.git(["rev-parse", "HEAD~1"]);
    for args in ["HEAD", "HEAD~1", &id, "--missing=omit HEAD"] {
        let run = |command| repo.shell(&format!("ulimit -v 600000; exec {command} {args}"));
        let ours = run("git-sluice");
        let failure = format!("packfile {} cannot be mapped", file.display());
        let why = "Cannot allocate memory";
        ours.assert_failure(128, &format!("fatal: {failure}: {why}\n"));
        if !args.starts_with("--") {
            let theirs = run("git archive");
            let messages = theirs.messages();
            let is_same = messages.contains("cannot be mapped") && messages.contains(why);
            assert!(is_same && theirs.code() == 128, "{theirs}");
        }
    }
}
