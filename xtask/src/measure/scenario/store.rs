//! A repository that many people edit, as it lies on a server.
//!
//! What was there before is one pack, with all refs in `packed-refs`. Each edit is one commit and comes in
//! as a small push does: its objects become loose ones, and its branch a loose ref. Nothing ever packs
//! them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use tempfile::TempDir;

use super::import::{self, command, directory};
use crate::corpus::Repository;
use crate::{process, scratch};

/// What a commit does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Job {
    /// Add a file
    Add,
    /// Modify a file, always the same
    Modify,
}

impl Job {
    pub(super) fn name(self) -> &'static str {
        match self {
            Job::Add => "add",
            Job::Modify => "modify",
        }
    }
}

/// What stores are copied from: so many files, and so many branches that each have a commit of their own
/// on top of them.
pub(super) struct Template {
    files: u32,
    branches: u32,
    path: PathBuf,
    /// Goes when the template goes.
    _directory: TempDir,
}

impl Template {
    pub(super) fn make(files: u32, branches: u32) -> Result<Self> {
        let temporary = scratch::directory()?;
        let path = temporary.path().join("repository");
        Repository::init(&path)?;
        import::run(&path, 0, |stream| {
            stream.commit("main", None)?;
            for number in 0..files {
                stream.source(number, 0)?;
            }
            for number in 0..branches {
                let name = branch(number);
                stream.commit(&name, Some("refs/heads/main"))?;
                stream.file(&format!("{name}.rs"), number, 0)?;
            }
            Ok(())
        })?;
        // With deltas, as after `git gc`.
        process::run(command(Path::new("git"), &path).args(["repack", "-adfq"]))?;
        Ok(Self {
            files,
            branches,
            path,
            _directory: temporary,
        })
    }
}

pub(super) struct Store {
    files: u32,
    branches: u32,
    path: PathBuf,
    /// How many there were; held while one is made.
    edits: Mutex<u32>,
}

/// A commit that was made.
pub(super) struct Edit {
    /// From 1, by the order in which they were made.
    pub(super) number: u32,
    pub(super) branch: String,
}

impl Store {
    /// A copy of `template` at `path`. As with forks on one server, the pack is there once.
    pub(super) fn copy(template: &Template, path: PathBuf) -> Result<Self> {
        let mut clone = command(Path::new("git"), &template.path);
        clone.args(["clone", "--quiet", "--bare", "--local", "--template="]);
        clone.args(["--config", "gc.auto=0", "."]).arg(&path);
        process::run(&mut clone)?;
        Ok(Self {
            files: template.files,
            branches: template.branches,
            path,
            edits: Mutex::new(0),
        })
    }

    /// Makes the next commit. One follows the other on each branch in turn.
    pub(super) fn edit(&self, job: Job) -> Result<Edit> {
        let mut edits = self.edits.lock().unwrap_or_else(PoisonError::into_inner);
        *edits += 1;
        let number = *edits;
        let branch = branch((number - 1) % self.branches);
        // By default git unpacks pushes of up to so many objects.
        import::run(&self.path, 100, |stream| {
            stream.commit(&branch, Some(&format!("refs/heads/{branch}^0")))?;
            match job {
                Job::Add => {
                    // Here and there.
                    let beside = number.wrapping_mul(2_654_435_761) % self.files;
                    let path = format!("{}added-{number:06}.rs", directory(beside));
                    stream.file(&path, self.files + number, 0)
                }
                Job::Modify => stream.source(self.files / 2, number),
            }
        })?;
        Ok(Edit { number, branch })
    }

    /// A program in it.
    pub(super) fn command(&self, program: &Path) -> Command {
        command(program, &self.path)
    }
}

fn branch(number: u32) -> String {
    format!("branch-{number:03}")
}
