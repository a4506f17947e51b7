//! A repository of so many files, with a commit that changes one of them and a commit that changes
//! one in a hundred.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use super::import;
use crate::corpus::Repository;

/// `main` changes one file of `main~1`; `part` changes every hundredth, and `cluster` as many, but all of
/// some directories.
pub(super) struct Fixture {
    pub(super) files: u32,
    path: PathBuf,
    /// Goes when the fixture goes.
    _directory: TempDir,
}

impl Fixture {
    pub(super) fn make(files: u32) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("repository");
        Repository::init(&path)?;
        import::run(&path, 0, |stream| {
            stream.commit("main", None)?;
            for number in 0..files {
                stream.source(number, 0)?;
            }
            stream.commit("part", Some("refs/heads/main"))?;
            for number in (0..files).step_by(100) {
                stream.source(number, 1)?;
            }
            stream.commit("cluster", Some("refs/heads/main"))?;
            for number in 0..files / 100 {
                stream.source(number, 1)?;
            }
            stream.commit("main", None)?;
            stream.source(files / 2, 1)
        })?;
        Ok(Self {
            files,
            path,
            _directory: directory,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A program in it, with arguments.
    pub(super) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = import::command(program, self.path());
        command.args(arguments);
        command
    }
}
