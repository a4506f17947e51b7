//! `compare`: an archive of any kind, or a directory, next to a commit.

mod bytes;
mod classes;
mod deceptive;
mod hostile;
mod mutations;
mod options;
mod origin;
mod readers;
mod questions;

use std::fs;

use crate::support::Repo;
use crate::support::process::{Output, run_with_input};

/// A repository with a file of each kind, an attribute of each kind, and the tag `v1`.
pub(super) fn project() -> Repo {
    let repo = Repo::init();
    let script = "mkdir -p src/deep docs .github && echo read >README && echo 'int main;' >src/main.c && \
                  printf '#!/bin/sh\\n' >run && chmod +x run && ln -s README link && seq 500 >src/deep/numbers && \
                  printf 'a\\nb\\n' >dos.txt && echo '$Format:%H$' >version && echo ci >.github/ci && echo x >docs/x && \
                  printf '.github export-ignore\\ndos.txt eol=crlf\\nversion export-subst\\n' >.gitattributes && \
                  git add . && git commit -qm one && git tag v1 && echo 2 >>README && git commit -qam two";
    let _ = repo.shell(script).success();
    repo
}

impl Repo {
    /// `compare` with these words.
    #[track_caller]
    pub(super) fn compare(&self, words: &str) -> Output {
        let words = words.split(' ').filter(|word| !word.is_empty());
        self.sluice(["compare"].into_iter().chain(words))
    }

    /// `compare` of `archive`, which comes by a pipe.
    #[track_caller]
    pub(super) fn compare_bytes(&self, archive: &[u8], words: &str) -> Output {
        let mut command = self.command(crate::support::binary());
        let words = words.split(' ').filter(|word| !word.is_empty());
        run_with_input(command.args(["compare", "-"]).args(words), archive)
    }

    /// The archive that `git archive` writes.
    #[track_caller]
    pub(super) fn archive_of(&self, words: &str) -> Vec<u8> {
        self.archive(words.split(' ')).success()
    }
}

/// `output` has exactly these lines on its standard output, and this exit status.
#[track_caller]
pub(super) fn assert_says(output: &Output, status: i32, lines: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!((said.as_ref(), output.code()), (lines, status), "{output}");
}

/// Whatever holds the files of a commit is found to do so.
#[test]
fn archives_of_every_kind_have_the_files() {
    let repo = project();
    let script = "git archive --prefix=p-1/ -o .git/a.tar v1 && git archive --prefix=p-1/ -o .git/a.zip v1 && \
                  git archive --prefix=p-1/ -o .git/a.tar.gz v1 && mkdir .git/d && tar -xf .git/a.tar -C .git/d";
    let _ = repo.shell(script).success();
    for archive in ["a.tar", "a.zip", "a.tar.gz", "d", "d/p-1"] {
        let output = repo.compare(&format!(".git/{archive} v1"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let expected = if archive.starts_with('d') {
            "same files"
        } else {
            "identical: git archive "
        };
        assert!(said.starts_with(expected), "{archive}\n{output}");
        assert_eq!(output.code(), 0, "{archive}");
        let changed = repo.compare(&format!(".git/{archive} main"));
        let lines = "changed   README\nchanged   version\ndiffers: 0 added, 2 changed, 0 missing (9 files in the archive)\n";
        assert_says(&changed, 1, lines);
    }
}

/// Every archive that a pipe brings is read as one in a file.
#[test]
fn archives_come_by_pipes() {
    let repo = project();
    for format in ["tar", "tar.gz", "zip"] {
        let archive = repo.archive_of(&format!("--format={format} --prefix=p/ v1"));
        let output = repo.compare_bytes(&archive, "v1");
        let lines = format!("identical: git archive --format={format} --prefix=p/ v1");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with(&lines), "{output}");
    }
    fs::write(repo.path().join(".git/empty"), b"").expect("our own");
    for (archive, words) in [
        (&b""[..], "fatal: this is no archive\n"),
        (
            b"no archive at all, but long enough",
            "fatal: this is no archive\n",
        ),
    ] {
        let output = repo.compare_bytes(archive, "v1");
        output.assert_refused(128, &[words]);
    }
}

/// The commit that the archive names is found, with its names.
#[test]
fn the_commit_is_found() {
    let repo = project();
    let commit = repo.git(["rev-parse", "v1"]);
    for format in ["tar", "tar.gz", "zip"] {
        let archive = repo.archive_of(&format!("--format={format} v1"));
        let output = repo.compare_bytes(&archive, "");
        let first = format!(
            "commit    {commit} (v1), from the comment of the archive\nidentical: git archive --format={format} {commit}"
        );
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with(&first), "{output}");
    }
    let tree = repo.archive_of("--format=tar v1^{tree}");
    let unknown = "fatal: the archive does not say which commit it has\n\
                   hint: name a commit, or look for the nearest tag with --search\n";
    repo.compare_bytes(&tree, "").assert_failure(128, unknown);
    let other = Repo::init();
    let archive = repo.archive_of("--format=tar v1");
    let lacking =
        format!("fatal: the repository lacks commit {commit}\nhint: git fetch origin {commit}\n");
    other
        .compare_bytes(&archive, "")
        .assert_failure(9, &lacking);
}

/// The directory in front of all paths is found, whatever it is called.
#[test]
fn the_prefix_is_found() {
    let repo = project();
    for prefix in [
        "",
        "p/",
        "p-1.0/",
        "a/b/c/",
        "src/",
        "docs/src/",
        "README/",
        "p-",
    ] {
        let archive = repo.archive_of(&format!("--format=tar --prefix={prefix} v1"));
        let output = repo.compare_bytes(&archive, "v1");
        assert_eq!(output.code(), 0, "{prefix}\n{output}");
        assert!(
            output.stdout.starts_with(b"identical: "),
            "{prefix}\n{output}"
        );
    }
    let archive = repo.archive_of("--format=tar --prefix=p-1 --add-virtual-file=p-1x:x HEAD");
    assert_eq!(repo.compare_bytes(&archive, "HEAD src").code(), 0);
    let archive = repo.archive_of("--format=tar --prefix=a/b/ v1");
    assert_eq!(repo.compare_bytes(&archive, "--prefix=a/b/ v1").code(), 0);
    assert_eq!(repo.compare_bytes(&archive, "--prefix=a/ v1").code(), 1);
}

/// Only the last commit of three has the files, and the tag nearest to other files is named.
#[test]
fn the_nearest_tag_is_found() {
    let repo = project();
    let script = "for n in 2 3 4; do echo $n >src/new$n && git add . && git commit -qm $n && git tag v$n; done && \
                  echo more >>README && git add . && git commit -qm x && git tag nothing v1:README";
    let _ = repo.shell(script).success();
    let archive = repo.archive_of("--format=tar --prefix=q/ v3^{tree}");
    let output = repo.compare_bytes(&archive, "--search");
    let said = String::from_utf8_lossy(&output.stdout);
    // The attributes make files of the archive differ from their blobs.
    assert!(said.starts_with("nearest   v3 ("), "{output}");
    assert_eq!(output.code(), 0);
}
