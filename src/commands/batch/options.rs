//! The options of a batch, which stand behind `--batch`. Must not look at those of its requests.

use std::{
    ffi::{OsStr, OsString},
    num::NonZeroUsize,
    os::unix::ffi::OsStrExt,
    thread,
};

use crate::{
    base::error::{Error, Result, filled},
    cli::{number, size},
};

/// The most requests that overlap by default, however many processors there are: each may need its share of memory.
const MAX_DEFAULT_JOBS: usize = 4;
/// Repositories that stay open by default.
const DEFAULT_REPOSITORIES: usize = 100;
/// The ceiling of memory by default, in bytes.
const DEFAULT_MEMORY: u64 = 256 << 20;
/// The most complete answers of each job that wait for those before them. More would hide longer pauses of one answer, and
/// memory would grow with the longest pause so far.
const WAITING_ANSWERS: usize = 16;

/// The options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most requests that are answered at the same time.
    pub(super) jobs: usize,
    /// The most repositories that stay open between requests.
    pub(super) repositories: usize,
    /// The ceiling of the memory of all requests together, in bytes.
    pub(super) memory: u64,
}

impl Options {
    /// Reads the `words` behind `--batch`.
    pub fn parse(words: &[OsString]) -> Result<Self> {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut options = Self {
            jobs: processors.min(MAX_DEFAULT_JOBS),
            repositories: DEFAULT_REPOSITORIES,
            memory: DEFAULT_MEMORY,
        };
        for word in words {
            options.set(word.to_str().unwrap_or_default(), word)?;
        }
        Ok(options)
    }

    fn set(&mut self, text: &str, word: &OsStr) -> Result<()> {
        let refused = |template| Error::fatal(filled(template, &[word.as_bytes()]));
        let bad = |why: String| refused("bad value in '{}'").caused_by(why);
        match text.split_once('=') {
            Some(("--batch-jobs", jobs)) => {
                self.jobs = number(1..=usize::MAX)(jobs).map_err(bad)?;
            }
            Some(("--batch-repositories", repositories)) => {
                self.repositories = number(0..=usize::MAX)(repositories).map_err(bad)?;
            }
            Some(("--memory", memory)) => {
                self.memory = size(memory).map_err(bad)?;
            }
            _ => {
                return Err(refused(
                    "'{}' does not go with '--batch'; the words of a request follow on standard input",
                ));
            }
        }
        Ok(())
    }

    /// The ceiling of the memory of one request, in bytes: its share of a half.
    pub(super) fn memory_of_one(self) -> u64 {
        self.memory / 2 / self.jobs as u64
    }

    /// The memory of the repositories that stay open, in bytes: the last quarter.
    pub(super) fn memory_of_repositories(self) -> u64 {
        self.memory / 4
    }

    /// The most bytes of answers that wait for those before them: a quarter of the memory.
    pub(super) fn waiting(self) -> usize {
        usize::try_from(self.memory / 4).unwrap_or(usize::MAX)
    }

    /// The most complete answers that wait for those before them.
    pub(super) fn waiting_answers(self) -> usize {
        self.jobs.saturating_mul(WAITING_ANSWERS)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn options_of_a_batch() {
        let parse = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(Into::into).collect();
            Options::parse(&words).map_err(|error| error.to_string())
        };
        let words = ["--batch-jobs=2", "--batch-repositories=0", "--memory=8m"];
        let options = parse(&words).expect("sound");
        assert_eq!((options.jobs, options.repositories), (2, 0));
        assert_eq!(
            (options.memory_of_one(), options.waiting()),
            (2 << 20, 2 << 20)
        );
        for word in ["", "HEAD", "--batch-jobs", "--batch-jobs=0", "--memory=x"] {
            let refused = parse(&[word]).expect_err("unfit");
            let is_known = word.contains('=');
            let is_bad = refused.contains(&format!("bad value in '{word}'"));
            assert!(refused.contains(word) && is_bad == is_known, "{refused}");
        }
    }
}
