//! How many threads a run may use, by the number of processors and by the other runnable threads.
//!
//! A thread that shares its processor with one other thread still helps. On a busier machine, a further
//! thread takes time from other runs and touches memory of its own, so that many runs at once take longer
//! than with one thread each. Must not fail: where the system does not report its load, the machine counts
//! as idle.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// The most threads by default. More do not help: one writer is the limit.
const MAX_DEFAULT_THREADS: usize = 64;
/// How often a run looks for processors to spare.
const LOOK: Duration = Duration::from_millis(20);
/// The most runnable threads per processor at which a further thread helps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// A thread of a small archive needs its own processor: the archive ends sooner than a shared processor
    /// gets to the thread.
    Alone = 1,
    /// Half a processor is enough.
    Half = 2,
}

/// Runnable threads that are not counted, since a single sample includes threads that run only for an
/// instant.
const PASSING: usize = 1;

/// The number of threads of a run, which follows the load of the machine.
pub(super) struct ThreadCount {
    requested: Option<usize>,
    max: usize,
    /// The number allowed now, the calling thread included.
    now: usize,
    /// The number on an idle machine. Unknown until further threads are worth their start.
    wanted: Option<usize>,
    /// When the run last looked for processors to spare.
    looked: Instant,
    sharing: Sharing,
}

impl ThreadCount {
    /// One thread until more are wanted: then as many as are `requested`, by default those that help, but never more than `max`.
    pub(super) fn new(requested: Option<usize>, max: usize) -> Self {
        Self {
            requested,
            max,
            now: 1,
            wanted: None,
            looked: Instant::now(),
            sharing: Sharing::Alone,
        }
    }

    /// The number allowed now, the calling thread included.
    pub(super) fn now(&self) -> usize {
        self.now
    }

    /// Whether more than one thread is worth its start.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// Whether an idle machine would allow more.
    pub(super) fn is_short(&self) -> bool {
        self.wanted.is_some_and(|wanted| self.now < wanted)
    }

    /// Whether it is time to look again.
    pub(super) fn is_due(&self) -> bool {
        self.is_wanted() && self.looked.elapsed() > LOOK
    }

    /// Whether half a processor is enough for a thread.
    pub(super) fn is_sharing(&self) -> bool {
        self.sharing == Sharing::Half
    }

    /// From now on, half a processor is enough for a thread.
    pub(super) fn share(&mut self) {
        self.sharing = Sharing::Half;
    }

    /// From now on, more than one thread is worth its start.
    pub(super) fn want(&mut self) {
        let threads = self.requested.unwrap_or_else(processor_count);
        self.wanted = Some(threads.min(self.max));
    }

    /// Allows no more than these threads, since the system has no more.
    pub(super) fn end_at(&mut self, threads: usize) {
        self.wanted = Some(threads);
        self.now = threads;
    }

    /// Looks for processors: the requested number of threads is allowed, by default no more than help now. `active` threads of
    /// this run exist.
    pub(super) fn look(&mut self, active: usize) {
        let wanted = self.wanted.unwrap_or(1);
        self.looked = Instant::now();
        self.now = match self.requested {
            None if wanted > 1 => helpful_threads(wanted, active, self.sharing),
            _ => wanted,
        };
    }
}

/// As many threads as there are processors to run on. Asking the system takes longer than a small archive.
pub fn processor_count() -> usize {
    thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_DEFAULT_THREADS)
}

/// The number of threads that help now, for a run with one thread.
pub fn default_threads() -> usize {
    helpful_threads(processor_count(), 1, Sharing::Half)
}

/// The number of `wanted` threads that have a processor now, at least one. `active` threads of this run
/// exist already.
fn helpful_threads(wanted: usize, active: usize, sharing: Sharing) -> usize {
    let Some(runnable) = runnable_threads() else {
        return wanted;
    };
    let others = runnable.saturating_sub(active + PASSING);
    if others + wanted <= sharing as usize * wanted {
        return wanted; // Even if the machine has no more processors than we may use.
    }
    let processors = online_processors().unwrap_or(wanted);
    share(wanted, others, sharing as usize * processors)
}

/// The number of `wanted` threads that help on a machine with `room` for so many, where `others` are
/// runnable.
fn share(wanted: usize, others: usize, room: usize) -> usize {
    let free = room.saturating_sub(others);
    free.clamp(1, wanted)
}

/// Threads of the whole machine that run or wait for a processor: the fourth field of `/proc/loadavg`
/// (proc_loadavg(5)).
fn runnable_threads() -> Option<usize> {
    parse_runnable(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn parse_runnable(loadavg: &str) -> Option<usize> {
    let (runnable, _) = loadavg.split_ascii_whitespace().nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

/// The number of processors of the whole machine. A container may use fewer.
fn online_processors() -> Option<usize> {
    parse_processors(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// Counts the processors of a list such as `0-3,8` (cpuset(7), "List format").
fn parse_processors(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::{Sharing, helpful_threads, parse_processors, parse_runnable, share};

    #[test]
    fn a_busy_machine_leaves_one_thread() {
        let cases = [
            // wanted, others, room, threads
            (2, 0, 4, 2),
            (2, 2, 4, 2),
            (2, 3, 4, 1),
            (2, 0, 2, 2),
            (2, 1, 2, 1),
            (2, 20, 4, 1),
            (2, 60, 128, 2),
            (16, 20, 32, 12),
            (16, 200, 32, 1),
            (1, 200, 4, 1),
        ];
        for (wanted, others, room, threads) in cases {
            let case = format!("{wanted} wanted, {others} others, room for {room}");
            assert_eq!(share(wanted, others, room), threads, "{case}");
        }
    }

    #[test]
    fn threads_are_between_one_and_those_wanted() {
        for sharing in [Sharing::Alone, Sharing::Half] {
            assert_eq!(helpful_threads(1, 1, sharing), 1);
            assert!((1..=8).contains(&helpful_threads(8, 1, sharing)));
        }
    }

    #[test]
    fn what_the_system_says_is_understood_or_ignored() {
        assert_eq!(parse_runnable("1.28 1.08 0.77 2/110 19744\n"), Some(2));
        assert_eq!(parse_runnable("0.00 0.00\n"), None);
        assert_eq!(parse_processors("0-3,8\n"), Some(5));
        assert_eq!(parse_processors("0\n"), Some(1));
        assert_eq!(parse_processors("3-1\n"), None);
        assert_eq!(parse_processors("\n"), None);
    }
}
