//! Turns to produce: at most so many processes hold one at a time, in the order of their arrival.
//!
//! A process that wants a turn draws a number and locks a file of this name, the *ticket*. Only a process without a locked ticket before
//! its own looks for a turn. The kernel gives back the turn and the ticket of a process that dies, so nobody waits for the dead.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    directory::{self, CacheDirectory},
    error::CacheError,
};
use sluice_base::sync::thread;

/// The pause between two looks for a turn.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A process with more tickets before its own pauses for more intervals, up to this many: a crowd would keep a processor busy.
const MAX_INTERVALS: u32 = 10;
/// The directory of turns and tickets, in that of the cache.
const QUEUE: &str = "queue";
/// The file with the number of the ticket that was drawn last.
const LAST: &str = "last";

/// There was no turn in time.
pub(super) struct Busy;

/// A turn to produce, given back when it is dropped.
pub(super) struct Job(#[expect(dead_code, reason = "holds a lock")] File);

impl Job {
    /// Waits for one of `jobs` turns in the cache at `path`, no longer than until `end`. `None` where turns cannot be had at all.
    pub(super) fn wait(
        path: &Path,
        jobs: usize,
        end: Option<Instant>,
    ) -> Result<Option<Self>, Busy> {
        let queue = CacheDirectory::open(&path.join(QUEUE));
        let Ok(mut ticket) = queue.and_then(Ticket::draw) else {
            return Ok(None);
        };
        let job = ticket.wait(jobs, end);
        ticket.give_back();
        job
    }

    fn take(queue: &CacheDirectory, jobs: usize) -> Result<Option<Self>, CacheError> {
        for number in 0..jobs {
            let file = queue.open_or_create(&format!("job.{number}"))?;
            if directory::try_lock(&file)? {
                return Ok(Some(Self(file)));
            }
        }
        Ok(None)
    }
}

/// The place of a process in the queue.
struct Ticket {
    queue: CacheDirectory,
    number: u64,
    #[expect(dead_code, reason = "holds a lock")]
    file: File,
    /// The ticket before this one, as it was last seen.
    before: Option<File>,
    /// The pause between two looks, in intervals: longer if more tickets were before this one at that time.
    intervals: u32,
}

impl Ticket {
    /// Takes the last place of `queue`.
    fn draw(queue: CacheDirectory) -> Result<Self, CacheError> {
        let last = queue.open_or_create(LAST)?;
        // Nobody sees a ticket before it is locked, since others draw theirs later.
        directory::lock(&last)?;
        let mut bytes = [0; 8];
        let drawn = last.read_exact_at(&mut bytes, 0);
        let mut number = drawn.map_or(0, |()| u64::from_le_bytes(bytes));
        let file = loop {
            number += 1;
            // A number may be drawn again after somebody removed the file with the last one.
            if let Some(file) = queue.create_file(&number.to_string())? {
                break file;
            }
        };
        directory::try_lock(&file)?;
        let written = last.write_all_at(&number.to_le_bytes(), 0);
        written.map_err(|error| CacheError::new("cannot draw a number", &error))?;
        let mut ticket = Self {
            queue,
            number,
            file,
            before: None,
            intervals: 1,
        };
        ticket.look_before()?;
        Ok(ticket)
    }

    /// Waits for one of `jobs` turns.
    fn wait(&mut self, jobs: usize, end: Option<Instant>) -> Result<Option<Job>, Busy> {
        loop {
            match self.turn(jobs) {
                Ok(Some(job)) => return Ok(Some(job)),
                Ok(None) if end.is_some_and(|end| Instant::now() >= end) => return Err(Busy),
                Ok(None) => thread::sleep(POLL_INTERVAL * self.intervals),
                Err(_) => return Ok(None),
            }
        }
    }

    /// A turn, if it is this ticket's and there is one.
    fn turn(&mut self, jobs: usize) -> Result<Option<Job>, CacheError> {
        if let Some(before) = &self.before {
            if !directory::try_lock_shared(before)? {
                return Ok(None);
            }
            self.look_before()?;
        }
        match self.before {
            Some(_) => Ok(None),
            None => Job::take(&self.queue, jobs),
        }
    }

    /// Finds the last ticket before this one that a living process holds, and removes those of the dead.
    fn look_before(&mut self) -> Result<(), CacheError> {
        let listed = self.queue.list()?;
        let numbers = listed.iter().filter_map(|file| file.name.parse().ok());
        let mut before: Vec<u64> = numbers.filter(|&number| number < self.number).collect();
        before.sort_unstable();
        self.before = None;
        while let Some(number) = before.pop() {
            let name = number.to_string();
            let Some(file) = self.queue.open_file(&name)? else {
                continue;
            };
            if !directory::try_lock_shared(&file)? {
                self.before = Some(file);
                break;
            }
            self.queue.remove(&name)?;
        }
        self.intervals = (before.len() as u32 + 1).min(MAX_INTERVALS);
        Ok(())
    }

    /// Leaves the queue. If the file stays, a later process removes it.
    fn give_back(self) {
        let _ = self.queue.remove(&self.number.to_string());
    }
}
