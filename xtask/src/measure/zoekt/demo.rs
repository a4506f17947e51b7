//! A small repository with everything in it that zoekt treats in a way of its own.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process;

/// The files in it that may be larger than the limit: the last that matches decides.
pub(super) const EXCEPTIONS: [&str; 3] = ["excepted/**", "!**/*.log", " \\!*.{txt,md}"];

/// Make it as a bare repository at `directory`, for indexers that take files of up to `limit` bytes.
pub(super) fn make(directory: &Path, limit: u64) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["init", "--quiet", "--bare", "--template="]);
    process::run(git.arg("--initial-branch=main").arg(directory))?;
    let mut import = Command::new("git");
    import.arg("-C").arg(directory);
    import.args(["fast-import", "--quiet", "--done"]);
    let mut import = import
        .stdin(Stdio::piped())
        .spawn()
        .context("could not start git fast-import")?;
    let mut pipe = import.stdin.take().expect("stdin was asked to be a pipe");
    let written = pipe.write_all(&stream(usize::try_from(limit)?));
    drop(pipe);
    let status = import.wait()?;
    ensure!(status.success(), "git fast-import failed: {status}");
    written.context("could not write to git fast-import")
}

/// What git fast-import makes the repository of.
fn stream(limit: usize) -> Vec<u8> {
    let mut commit = Commit::default();
    let ignored = b"# not for the index\nvendor/\n*.min.js\n/docs/**/draft?.md\n";
    commit.file(".sourcegraph/ignore", ignored);
    for name in [
        "vendor/a.c",
        "vendor/b/c.go",
        "x.min.js",
        "docs/a/draft1.md",
    ] {
        commit.file(name, b"this is ignored\n");
    }
    commit.file("vendor/large.txt", &text(limit + 1));
    for name in ["src/x.min.js", "docs/a/draft10.md", "vendored.c"] {
        commit.file(name, b"this is not ignored\n");
    }

    commit.file("limit/exactly.txt", &text(limit));
    commit.file("limit/beyond.c", &text(limit + 1));
    commit.file("limit/far-beyond.txt", &text(limit * 3));
    commit.file("excepted/large.go", &text(limit + 1));
    commit.file("excepted/large.log", &text(limit + 1));
    commit.file("excepted/large.bin", &binary(limit + 1));
    commit.file("excepted/trigrams.txt", &random_text(limit + 1));
    commit.file("!bang.md", &text(limit + 1));

    commit.file("binary/small.png", &binary(500));
    commit.file("binary/large.bin", &binary(limit + 1));
    commit.file("binary/late.txt", &[&text(300_000)[..], b"\0"].concat());
    commit.file("binary/nuls", b"\0\0");
    commit.file("random.txt", &random_text(200_000));

    commit.file("empty", b"");
    commit.file("one-byte", b"1");
    commit.file("two-bytes.c", b"2\n");
    commit.file("latin-1.txt", b"caf\xe9 au lait\n");
    commit.file(*b"caf\xe9.txt", b"a name that is no text\n");
    commit.file("a name with spaces.md", b"# Title\n");
    commit.entry("100755", b"run.sh", b"#!/bin/sh\nexit 0\n");
    commit.entry("120000", b"link", b"src/x.min.js");
    commit.entry("120000", b"dangling.c", b"there/is/no/such/file");
    commit.submodule("submodule");
    commit.finish()
}

/// A commit as git fast-import takes it.
struct Commit {
    stream: Vec<u8>,
}

impl Default for Commit {
    fn default() -> Self {
        let who = "C <c@example.com> 1117231200 +0000";
        let stream = format!("commit refs/heads/main\ncommitter {who}\ndata 0\n");
        Self {
            stream: stream.into_bytes(),
        }
    }
}

impl Commit {
    fn file(&mut self, name: impl AsRef<[u8]>, content: &[u8]) {
        self.entry("100644", name.as_ref(), content);
    }

    fn entry(&mut self, mode: &str, name: &[u8], content: &[u8]) {
        self.stream.extend(format!("M {mode} inline ").bytes());
        self.stream.extend(name);
        self.stream
            .extend(format!("\ndata {}\n", content.len()).bytes());
        self.stream.extend(content);
        self.stream.push(b'\n');
    }

    /// One that is nowhere to be found.
    fn submodule(&mut self, name: &str) {
        let id = "1".repeat(40);
        self.stream
            .extend(format!("M 160000 {id} {name}\n").bytes());
    }

    fn finish(mut self) -> Vec<u8> {
        self.stream.extend(b"done\n");
        self.stream
    }
}

/// Text of `len` bytes, with few trigrams.
fn text(len: usize) -> Vec<u8> {
    b"the same line again and again\n"
        .iter()
        .copied()
        .cycle()
        .take(len)
        .collect()
}

/// Text of `len` bytes with more trigrams than any language has.
fn random_text(len: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n";
    let mut state = 1u64;
    let letter = || {
        // Knuth's multiplicative generator; its high bits are the random ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        LETTERS[(state >> 58) as usize]
    };
    std::iter::repeat_with(letter).take(len).collect()
}

/// `len` bytes with NULs among them.
fn binary(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn git_takes_all_of_it() {
        if process::text(Command::new("git").arg("--version")).is_err() {
            eprintln!("SKIP: git is not installed");
            return;
        }
        let directory = scratch::directory().unwrap();
        make(directory.path(), 1000).unwrap();
        let mut git = Command::new("git");
        git.arg("-C").arg(directory.path());
        let listing = process::text(git.args(["ls-tree", "-rl", "main"])).unwrap();
        assert_eq!(listing.lines().count(), 32);
        assert!(listing.contains(" 1000\tlimit/exactly.txt"));
        assert!(listing.contains(" 1001\tlimit/beyond.c"));
        assert!(listing.contains("\"caf\\351.txt\""));
    }
}
