//! Small repositories, each with one change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use crate::{process, scratch};

/// Directories of each repository.
const DIRECTORIES: u32 = 10;
/// Lines of each file.
const LINES: usize = 50;

/// Repositories with a last commit that changes one file.
pub(super) struct Fixture {
    directory: TempDir,
    pub(super) repositories: Vec<PathBuf>,
}

impl Fixture {
    pub(super) fn make(repositories: u32, files: u32) -> Result<Self> {
        let directory = scratch::directory()?;
        let path = |number| directory.path().join(format!("{number:03}"));
        let repositories: Vec<PathBuf> = (0..repositories).map(path).collect();
        for (number, top) in repositories.iter().enumerate() {
            repository(top, number, files)?;
        }
        Ok(Self {
            directory,
            repositories,
        })
    }

    /// A directory beside the repositories.
    pub(super) fn beside(&self) -> &Path {
        self.directory.path()
    }
}

fn repository(top: &Path, number: usize, files: u32) -> Result<()> {
    for file in 0..files {
        let path = top.join(file_name(file));
        fs::create_dir_all(path.parent().unwrap_or(top))?;
        fs::write(path, format!("{number} {file}\n").repeat(LINES))?;
    }
    git(top, &["init", "--quiet", "--initial-branch=main"])?;
    git(top, &["add", "."])?;
    git(top, &["commit", "--quiet", "--message=first"])?;
    fs::write(top.join(file_name(files / 2)), "changed\n")?;
    git(top, &["commit", "--quiet", "--all", "--message=second"])?;
    git(top, &["gc", "--quiet"])
}

/// The name of file `number`.
pub(super) fn file_name(number: u32) -> String {
    format!("dir{}/file{number}", number % DIRECTORIES)
}

/// Runs git in the repository at `top`.
pub(super) fn git(top: &Path, words: &[&str]) -> Result<()> {
    process::quiet(hermetic(Path::new("git"), top).args(words)).map(drop)
}

/// `program` in the repository at `top`, out of reach of the user's configuration.
pub(super) fn hermetic(program: &Path, top: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .current_dir(top);
    command
}
