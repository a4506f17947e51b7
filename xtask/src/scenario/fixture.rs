//! A repository of so many files, with a commit that changes one of them and a commit that changes
//! one in a hundred.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::corpus::Repository;

/// `main` changes one file of `main~1`; `part` changes every hundredth, and `cluster` as many, but all of
/// some directories.
pub(super) struct Fixture {
    path: PathBuf,
    /// Goes when the fixture goes.
    _directory: TempDir,
}

/// What a source file has.
const LINES: u32 = 60;

impl Fixture {
    pub(super) fn make(files: u32) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("repository");
        let repository = Repository::init(&path)?;
        let mut import = repository.git();
        import
            .args(["-c", "fastimport.unpackLimit=0"])
            .args(["fast-import", "--quiet", "--depth=0"])
            .stdin(Stdio::piped());
        let mut import = import.spawn().context("could not start git fast-import")?;
        let pipe = import
            .stdin
            .take()
            .context("stdin was asked to be a pipe")?;
        let mut stream = BufWriter::with_capacity(1 << 20, pipe);
        commit(&mut stream, "main", None)?;
        for number in 0..files {
            change(&mut stream, number, 0)?;
        }
        commit(&mut stream, "part", Some("main"))?;
        for number in (0..files).step_by(100) {
            change(&mut stream, number, 1)?;
        }
        commit(&mut stream, "cluster", Some("main"))?;
        for number in 0..files / 100 {
            change(&mut stream, number, 1)?;
        }
        commit(&mut stream, "main", Some("main"))?;
        change(&mut stream, files / 2, 1)?;
        stream.flush()?;
        drop(stream);
        ensure!(import.wait()?.success(), "git fast-import failed");
        Ok(Self {
            path,
            _directory: directory,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A program in it, out of reach of the user's configuration.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("TZ", "UTC")
            .current_dir(self.path());
        command
    }
}

fn commit(stream: &mut impl Write, branch: &str, parent: Option<&str>) -> Result<()> {
    write!(
        stream,
        "commit refs/heads/{branch}\n\
         committer A U Thor <author@example.com> 1800000000 +0000\n\
         data 0\n"
    )?;
    // Of a branch that is there, the parent is what it was.
    if let Some(parent) = parent.filter(|parent| *parent != branch) {
        writeln!(stream, "from refs/heads/{parent}")?;
    }
    Ok(())
}

/// Fifty files to a directory, twenty directories to another.
fn change(stream: &mut impl Write, number: u32, version: u32) -> Result<()> {
    let mut content = format!("version {version}\n");
    let mut word = number.wrapping_mul(2_654_435_761);
    for line in 0..LINES {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        content += &format!("    let value_{word:08x} = table[{line}];\n");
    }
    let (outer, inner) = (number / 1000, number / 50 % 20);
    write!(
        stream,
        "M 100644 inline part-{outer:03}/module-{inner:02}/file-{number:06}.rs\ndata {}\n{content}\n",
        content.len()
    )?;
    Ok(())
}
