//! Turns to produce: at most so many processes hold one at a time. The kernel gives back the turn of a process that
//! dies.

use std::{
    fs::File,
    thread,
    time::{Duration, Instant},
};

use super::{
    directory::{self, Directory},
    trouble::Trouble,
};

/// The pause between two looks for a turn.
const NAP: Duration = Duration::from_millis(5);

/// There was no turn in time.
pub(super) struct Busy;

/// A turn to produce, given back when it is dropped.
pub(super) struct Job(#[expect(dead_code, reason = "holds a lock")] File);

impl Job {
    /// Waits for one of `jobs` turns, no longer than `limit`. `None` where turns cannot be had at all.
    pub(super) fn wait(
        directory: &Directory,
        jobs: usize,
        limit: Option<Duration>,
    ) -> Result<Option<Self>, Busy> {
        let start = Instant::now();
        loop {
            match Self::take(directory, jobs) {
                Ok(Some(job)) => return Ok(Some(job)),
                Ok(None) if limit.is_some_and(|limit| start.elapsed() >= limit) => {
                    return Err(Busy);
                }
                Ok(None) => thread::sleep(NAP),
                Err(_) => return Ok(None),
            }
        }
    }

    fn take(directory: &Directory, jobs: usize) -> Result<Option<Self>, Trouble> {
        for number in 0..jobs {
            let file = directory.open_or_create(&format!("job.{number}"))?;
            if directory::try_lock(&file)? {
                return Ok(Some(Self(file)));
            }
        }
        Ok(None)
    }
}
