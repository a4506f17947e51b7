//! Turns to produce: at most so many processes hold one at a time. The kernel gives back the turn of a process that
//! dies.

use std::{
    fs::File,
    time::{Duration, Instant},
};

use super::{
    directory::{self, CacheDirectory},
    error::CacheError,
};
use sluice_base::sync::thread;

/// The pause between two looks for a turn.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// There was no turn in time.
pub(super) struct Busy;

/// A turn to produce, given back when it is dropped.
pub(super) struct Job(#[expect(dead_code, reason = "holds a lock")] File);

impl Job {
    /// Waits for one of `jobs` turns, no longer than until `end`. `None` where turns cannot be had at all.
    pub(super) fn wait(
        directory: &CacheDirectory,
        jobs: usize,
        end: Option<Instant>,
    ) -> Result<Option<Self>, Busy> {
        loop {
            match Self::take(directory, jobs) {
                Ok(Some(job)) => return Ok(Some(job)),
                Ok(None) if end.is_some_and(|end| Instant::now() >= end) => {
                    return Err(Busy);
                }
                Ok(None) => thread::sleep(POLL_INTERVAL),
                Err(_) => return Ok(None),
            }
        }
    }

    fn take(directory: &CacheDirectory, jobs: usize) -> Result<Option<Self>, CacheError> {
        for number in 0..jobs {
            let file = directory.open_or_create(&format!("job.{number}"))?;
            if directory::try_lock(&file)? {
                return Ok(Some(Self(file)));
            }
        }
        Ok(None)
    }
}
