//! Pushes of different sizes in the history of a repository.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;

/// How many files the pushes change, if there are such pushes.
const SIZES: [usize; 3] = [1, 10, 50];
/// How many commits of the first parents are looked at, and how many of them one push may have.
const COMMITS: usize = 60;
const COMMITS_OF_A_PUSH: usize = 20;

/// Commits that arrive together.
pub(super) struct Push {
    pub(super) base: String,
    pub(super) target: String,
    /// The number of files that differ.
    pub(super) files: usize,
}

/// For each size, the push that is closest to it.
pub(super) fn find(repository: &Path) -> Result<Vec<Push>> {
    let count = (COMMITS + COMMITS_OF_A_PUSH).to_string();
    let log = git(
        repository,
        &["log", "--first-parent", "--format=%H", "-n", &count, "HEAD"],
    )?;
    let commits: Vec<&str> = log.lines().collect();
    ensure!(commits.len() > 1, "the repository has only one commit");
    SIZES
        .iter()
        .map(|&size| closest(repository, &commits, size))
        .collect()
}

fn closest(repository: &Path, commits: &[&str], size: usize) -> Result<Push> {
    let mut best: Option<Push> = None;
    for span in [1, 2, 3, 5, 10, COMMITS_OF_A_PUSH] {
        for pair in commits.windows(span + 1).take(COMMITS) {
            let (target, base) = (pair[0], pair[span]);
            let files = git(repository, &["diff", "--name-only", base, target])?
                .lines()
                .count();
            let distance = |push: &Push| push.files.abs_diff(size);
            let push = Push {
                base: base.to_owned(),
                target: target.to_owned(),
                files,
            };
            if files > 0
                && best
                    .as_ref()
                    .is_none_or(|best| distance(&push) < distance(best))
            {
                best = Some(push);
            }
            if best.as_ref().is_some_and(|best| best.files == size) {
                break;
            }
        }
    }
    best.ok_or_else(|| anyhow::anyhow!("no push changes a file"))
}

fn git(repository: &Path, words: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    process::text(git.arg("-C").arg(repository).args(words))
}
