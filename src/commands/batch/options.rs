//! The limits of a batch. Must not look at the options of its requests.

use std::{num::NonZeroUsize, thread};

use sluice_cli as cli;

/// The most requests that overlap by default, however many processors there are: each may need its share of memory.
const MAX_DEFAULT_JOBS: usize = 4;
/// The most complete answers of each job that wait for those before them. More would hide longer pauses of one answer, and
/// memory would grow with the longest pause so far.
const WAITING_ANSWERS: usize = 16;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most requests that are answered at the same time.
    pub(super) jobs: usize,
    /// The most repositories that stay open between requests.
    pub(super) repositories: usize,
    /// The limit of the memory of all requests together, in bytes.
    pub(super) memory: u64,
}

impl From<&cli::Batch> for Options {
    fn from(given: &cli::Batch) -> Self {
        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            jobs: given
                .jobs
                .unwrap_or_else(|| processors().min(MAX_DEFAULT_JOBS)),
            repositories: given.repositories,
            memory: given.memory,
        }
    }
}

impl Options {
    /// The limit of the memory of one request, in bytes: its share of a half.
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
    use sluice_cli as cli;

    #[test]
    fn requests_share_a_half_of_the_memory() {
        let options = Options::from(&cli::Batch {
            jobs: Some(2),
            repositories: 1,
            memory: 8 << 20,
        });
        assert_eq!((options.jobs, options.repositories), (2, 1));
        assert_eq!(
            (options.memory_of_one(), options.waiting()),
            (2 << 20, 2 << 20)
        );
    }
}
