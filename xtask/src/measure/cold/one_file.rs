//! A repository of many files whose last commit changes one file: its delta is small, so the time goes into the rounds
//! that find it.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::corpus::Repository;

/// Files of a directory, and directories of a directory.
const FANOUT: u32 = 100;

/// Makes the repository in `directory`: bare, one pack, two commits.
pub(super) fn make(directory: &Path, files: u32) -> Result<()> {
    let repository = Repository::init(directory)?;
    let mut git = repository.git();
    // However few files there are, they are packed.
    git.args([
        "-c",
        "fastimport.unpackLimit=1",
        "fast-import",
        "--quiet",
        "--done",
    ]);
    let mut import = git.stdin(Stdio::piped()).spawn()?;
    let pipe = import.stdin.take().context("standard input is a pipe")?;
    let written = write(files, BufWriter::new(pipe));
    let status = import.wait()?;
    ensure!(status.success(), "git fast-import failed: {status}");
    written.context("could not write to git fast-import")
}

fn write(files: u32, mut stream: impl Write) -> io::Result<()> {
    commit(&mut stream, 1, 0..files)?;
    let middle = files / 2;
    commit(&mut stream, 2, middle..middle + 1)?;
    writeln!(stream, "done")?;
    stream.flush()
}

fn commit(stream: &mut impl Write, number: u32, files: std::ops::Range<u32>) -> io::Result<()> {
    writeln!(stream, "commit refs/heads/main")?;
    writeln!(stream, "committer A <a@example.com> {number} +0000\ndata 0")?;
    for file in files {
        let content = format!("file {file} of commit {number}\n");
        let (directory, name) = (file / FANOUT, file % FANOUT);
        let (top, directory) = (directory / FANOUT, directory % FANOUT);
        writeln!(stream, "M 100644 inline {top}/{directory}/{name}")?;
        writeln!(stream, "data {}\n{content}", content.len())?;
    }
    writeln!(stream)
}
