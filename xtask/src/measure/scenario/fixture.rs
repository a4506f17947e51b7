//! A repository of so many files, with a commit that changes one of them and a commit that changes
//! one in a hundred; or with the files in several packs and commits that are loose.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use super::import;
use crate::corpus::Repository;
use crate::scratch;

/// The delta of one file.
pub(super) const DELTA: [&str; 2] = ["--base=main~1", "main"];

/// `main` changes one file of `main~1`. From [`Fixture::make`], `part` changes every hundredth, and
/// `cluster` as many, but all of some directories.
pub(super) struct Fixture {
    pub(super) files: u32,
    path: PathBuf,
    /// Goes when the fixture goes.
    _directory: TempDir,
}

impl Fixture {
    pub(super) fn make(files: u32) -> Result<Self> {
        let fixture = Self::init(files)?;
        import::run(&fixture.path, 0, |stream| {
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
        Ok(fixture)
    }

    /// The files in so many packs of one size. `main~1` and `main` change one file each, and what they
    /// change is loose.
    pub(super) fn in_packs(files: u32, packs: u32) -> Result<Self> {
        let fixture = Self::init(files)?;
        for pack in 0..packs {
            import::run(&fixture.path, 0, |stream| {
                let before = (pack > 0).then_some("refs/heads/main^0");
                stream.commit("main", before)?;
                let mut numbers = files * pack / packs..files * (pack + 1) / packs;
                numbers.try_for_each(|number| stream.source(number, 0))
            })?;
        }
        for version in 1..=2 {
            import::run(&fixture.path, 100, |stream| {
                stream.commit("main", Some("refs/heads/main^0"))?;
                stream.source(files / 2, version)
            })?;
        }
        Ok(fixture)
    }

    fn init(files: u32) -> Result<Self> {
        let directory = scratch::directory()?;
        let path = directory.path().join("repository");
        Repository::init(&path)?;
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
