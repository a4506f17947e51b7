//! Ordered work on several threads, in bounded memory. Knows neither git nor tar.
//!
//! Work is numbered before a thread gets it. Jobs are *admitted* in that order against a budget of
//! bytes, done in any order, and written in order again; their bytes come back to the budget when
//! they are written. So the next job to be written is always among those admitted, and the window
//! cannot lock itself. A job larger than the budget is admitted alone. The last job of all is begun
//! early, once there is room for it and all before it.
//!
//! There is no thread for planning or for writing: planner and writer are roles that whichever
//! thread is free takes up, so `n` threads keep `n` cores busy, and one thread is a plain loop of
//! plan, split, work, write. What the planner makes are *lots*, which any thread splits into jobs; and where
//! threads would wait for it, it is *forked*, so that others plan what comes later. Only the writer
//! is one at a time. Nothing is sent through channels; the one lock is taken a few times a job, and
//! a job is a few hundred kilobytes.
//!
//! The first failure in job order decides: everything before it is written, nothing after it. A
//! panic anywhere stops all threads.

mod lots;
mod placement;
mod scheduler;

use std::{thread, time::Duration};

use crate::error::Result;

pub use scheduler::run;

/// Makes work, in order.
pub trait Source: Send + Sized {
    /// What will be some jobs.
    type Lot: Send;

    /// The next lot, and whether more may follow.
    fn next(&mut self) -> Result<Made<Self::Lot>>;

    /// Leave the later part of what is to be made to another source, for another thread; nothing if it cannot
    /// be told apart.
    fn fork(&mut self) -> Option<Self> {
        None
    }
}

/// What a [`Source`] makes at once.
pub struct Made<L> {
    /// Maybe an empty one.
    pub lot: L,
    /// Whether this was the last.
    pub last: bool,
}

/// Does jobs; shared by all threads.
pub trait Worker: Sync {
    /// What will be some jobs.
    type Lot: Send;
    /// A piece of work.
    type Job: Send;
    /// What becomes of it; empty ones are made by `default`, used ones come back to be reused.
    type Output: Default + Send;
    /// What a thread keeps from job to job.
    type Scratch;

    /// For a new thread.
    fn scratch(&self) -> Self::Scratch;

    /// The jobs that are in `lot`, in order.
    fn split(&self, lot: Self::Lot) -> Result<Vec<Self::Job>>;

    /// All are split.
    fn all_split(&self) {}

    /// The bytes to set aside for `job`: an estimate of its output and what making it takes.
    fn cost(&self, job: &Self::Job) -> usize;

    /// The bytes of memory that `output` holds.
    fn held(&self, output: &Self::Output) -> usize;

    /// The bytes in `output`: memory that is used again may hold more.
    fn len(&self, output: &Self::Output) -> usize;

    /// Do `job`. What is better done while writing (it would be too large) is returned as the rest.
    fn work(
        &self,
        scratch: &mut Self::Scratch,
        job: Self::Job,
        output: &mut Self::Output,
    ) -> Result<Option<Self::Job>>;

    /// Do the rest of a job in its turn, straight to the sink. On failure the worker sees to it
    /// that the result is visibly incomplete.
    fn finish(
        &self,
        scratch: &mut Self::Scratch,
        rest: Self::Job,
        sink: &mut dyn Sink<Self::Output>,
    ) -> Result<()>;
}

/// Takes outputs, in order.
pub trait Sink<O>: Send {
    /// Write `output` and leave it empty.
    fn write(&mut self, output: &mut O) -> Result<()>;

    /// Write what was made before a failure, if anything was written at all, so that the result
    /// is visibly incomplete.
    fn abandon(&mut self, output: &mut O);
}

/// More threads than this help nobody by default: one writer is the limit.
const MAX_DEFAULT_THREADS: usize = 64;

/// How much may go on at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads, the calling one included; by default as many as there are cores to run on.
    pub threads: Option<usize>,
    /// No more threads than these, whoever asks for them.
    pub max_threads: usize,
    /// Bytes admitted and not yet written.
    pub budget: usize,
    /// Lots in line, for any to be made before their turn.
    pub lots: usize,
}

/// How long the stages took, each summed over all threads. That one waits for another counts nowhere,
/// what a sink waits for counts as writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Making jobs, all that is done before one is begun.
    pub plan: Duration,
    /// Doing them.
    pub work: Duration,
    /// Writing them in order, what the worker left to the writer included.
    pub write: Duration,
}

/// As many threads as there are cores to run on. Asking the system takes longer than a small archive.
pub fn default_threads() -> usize {
    thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_DEFAULT_THREADS)
}

#[cfg(test)]
mod tests {
    use std::{
        ops::Range,
        sync::{
            Arc, Mutex,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use super::{Limits, Made, Sink, Source, Times, Worker, run};
    use crate::error::{Error, Result};

    /// Numbers in a lot.
    const LOT: u32 = 7;

    /// Counts to a number, in lots, and may fail or panic on the way.
    struct Numbers {
        next: u32,
        end: u32,
        fails: bool,
        forks: Arc<AtomicUsize>,
    }

    impl Source for Numbers {
        type Lot = Range<u32>;

        fn next(&mut self) -> Result<Made<Range<u32>>> {
            if self.next == self.end && self.fails {
                return Err(Error::fatal("cannot count on"));
            }
            let to = (self.next + LOT).min(self.end);
            let lot = self.next..to;
            self.next = to;
            std::thread::sleep(pause(lot.start));
            Ok(Made {
                lot,
                last: to == self.end && !self.fails,
            })
        }

        fn fork(&mut self) -> Option<Self> {
            let middle = self.next.midpoint(self.end).next_multiple_of(LOT);
            let middle = middle.min(self.end);
            self.forks.fetch_add(1, Ordering::SeqCst);
            let later = Self {
                next: middle,
                end: self.end,
                fails: self.fails,
                forks: Arc::clone(&self.forks),
            };
            self.end = middle;
            self.fails = false;
            Some(later)
        }
    }

    /// Takes longer for some jobs, leaves every tenth to the writer.
    #[derive(Default)]
    struct Slow {
        fails_at: Option<u32>,
        splits_to: Option<u32>,
        panics_at: Option<u32>,
        heavy: bool,
        flying: AtomicUsize,
        most: AtomicUsize,
        begun: Mutex<Vec<u32>>,
        /// How often the pipeline said that all batches are split.
        closed: AtomicUsize,
    }

    impl Worker for Slow {
        type Lot = Range<u32>;
        type Job = u32;
        type Output = Vec<u32>;
        type Scratch = ();

        fn scratch(&self) {}

        fn split(&self, lot: Range<u32>) -> Result<Vec<u32>> {
            let is_closed = || self.closed.load(Ordering::SeqCst) > 0;
            assert!(!is_closed(), "a batch is split after the last");
            std::thread::sleep(pause(lot.start));
            assert!(!is_closed(), "a batch is still being split");
            match self.splits_to {
                Some(to) if lot.end > to => Err(Error::fatal("cannot split it")),
                _ => Ok(lot.collect()),
            }
        }

        fn all_split(&self) {
            self.closed.fetch_add(1, Ordering::SeqCst);
        }

        fn cost(&self, _: &u32) -> usize {
            10
        }

        fn held(&self, output: &Vec<u32>) -> usize {
            let each = if self.heavy { 4 << 20 } else { 10 };
            output.len() * each
        }

        fn len(&self, output: &Vec<u32>) -> usize {
            self.held(output)
        }

        fn work(&self, (): &mut (), job: u32, output: &mut Vec<u32>) -> Result<Option<u32>> {
            let flying = self.flying.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(flying, Ordering::SeqCst);
            self.begun.lock().unwrap().push(job);
            std::thread::sleep(pause(job));
            assert_ne!(self.panics_at, Some(job), "asked to panic");
            if self.fails_at == Some(job) {
                return Err(Error::entry("cannot do it"));
            }
            if job.is_multiple_of(10) {
                return Ok(Some(job));
            }
            output.push(job);
            Ok(None)
        }

        fn finish(&self, (): &mut (), rest: u32, sink: &mut dyn Sink<Vec<u32>>) -> Result<()> {
            sink.write(&mut vec![rest])
        }
    }

    fn pause(job: u32) -> Duration {
        Duration::from_micros(u64::from(job * 37 % 11) * 50)
    }

    struct Collect<'a> {
        taken: Vec<u32>,
        torn: bool,
        full_at: Option<usize>,
        worker: &'a Slow,
    }

    impl Sink<Vec<u32>> for Collect<'_> {
        fn write(&mut self, output: &mut Vec<u32>) -> Result<()> {
            // A job left to the writer comes twice, first without output.
            if !output.is_empty() {
                self.worker.flying.fetch_sub(1, Ordering::SeqCst);
            }
            if self.full_at == Some(self.taken.len()) {
                return Err(Error::fatal("write error: No space left on device"));
            }
            self.taken.append(output);
            Ok(())
        }

        fn abandon(&mut self, output: &mut Vec<u32>) {
            self.taken.append(output);
            self.torn = true;
        }
    }

    fn count(
        source: Numbers,
        worker: &Slow,
        threads: usize,
        full_at: Option<usize>,
    ) -> (Vec<u32>, bool, Result<()>) {
        let (_, taken, torn, outcome) = timed(source, worker, threads, full_at);
        (taken, torn, outcome)
    }

    fn timed(
        source: Numbers,
        worker: &Slow,
        threads: usize,
        full_at: Option<usize>,
    ) -> (Times, Vec<u32>, bool, Result<()>) {
        let limits = Limits {
            threads: Some(threads),
            max_threads: usize::MAX,
            budget: 80,
            lots: 16,
        };
        limited(source, worker, limits, full_at)
    }

    fn limited(
        source: Numbers,
        worker: &Slow,
        limits: Limits,
        full_at: Option<usize>,
    ) -> (Times, Vec<u32>, bool, Result<()>) {
        let mut sink = Collect {
            taken: Vec::new(),
            torn: false,
            full_at,
            worker,
        };
        let (times, outcome) = run(source, worker, &mut sink, limits);
        (times, sink.taken, sink.torn, outcome)
    }

    fn to(end: u32) -> Numbers {
        Numbers {
            next: 0,
            end,
            fails: false,
            forks: Arc::default(),
        }
    }

    #[test]
    fn order_is_kept_within_the_budget() {
        for threads in [1, 2, 8] {
            let worker = Slow::default();
            let (taken, torn, outcome) = count(to(200), &worker, threads, None);
            assert_eq!(taken, (0..200).collect::<Vec<_>>(), "{threads} threads");
            assert!(outcome.is_ok() && !torn);
            assert!(worker.most.into_inner() <= 8 + threads);
        }
    }

    /// More than may wait comes out of every job.
    #[test]
    fn those_ahead_wait_for_the_first() {
        let worker = Slow {
            heavy: true,
            ..Slow::default()
        };
        let limits = Limits {
            threads: Some(2),
            max_threads: usize::MAX,
            budget: 1 << 30,
            lots: 16,
        };
        let (_, taken, _, outcome) = limited(to(200), &worker, limits, None);
        assert!(outcome.is_ok());
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn the_source_is_forked_where_threads_wait_for_it() {
        for threads in [1, 8] {
            let source = to(500);
            let forks = Arc::clone(&source.forks);
            let limits = Limits {
                threads: Some(threads),
                max_threads: usize::MAX,
                budget: 1 << 20,
                lots: 16,
            };
            let (_, taken, ..) = limited(source, &Slow::default(), limits, None);
            assert_eq!(taken, (0..500).collect::<Vec<_>>());
            assert_eq!(forks.load(Ordering::SeqCst) > 0, threads > 1);
        }
    }

    /// But for one thread, nothing is won by that.
    #[test]
    fn the_last_is_begun_early() {
        for (threads, budget, early) in [(1, 1 << 20, false), (2, 1 << 20, true), (2, 20, false)] {
            let worker = Slow::default();
            let limits = Limits {
                threads: Some(threads),
                max_threads: usize::MAX,
                budget,
                lots: 16,
            };
            let (_, taken, _, outcome) = limited(to(100), &worker, limits, None);
            assert!(outcome.is_ok());
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
            let begun = worker.begun.lock().unwrap();
            let last = begun.iter().position(|job| *job == 99).unwrap();
            assert_eq!(last < 97, early, "{threads} threads, {budget} bytes");
        }
    }

    #[test]
    fn the_times_of_all_threads_are_summed() {
        for threads in [1, 8] {
            let fails = Slow {
                fails_at: Some(150),
                ..Slow::default()
            };
            for (worker, done) in [(Slow::default(), 200), (fails, 150)] {
                let (times, ..) = timed(to(200), &worker, threads, None);
                assert!(times.work >= (0..done).map(pause).sum());
                assert!(!times.plan.is_zero() && !times.write.is_zero());
            }
        }
    }

    #[test]
    fn nothing_to_do_is_done() {
        assert!(count(to(0), &Slow::default(), 4, None).0.is_empty());
    }

    #[test]
    fn the_first_failure_in_order_decides() {
        for threads in [1, 2, 8] {
            let worker = Slow {
                fails_at: Some(33),
                ..Slow::default()
            };
            let (taken, torn, outcome) = count(to(200), &worker, threads, None);
            assert_eq!(taken, (0..33).collect::<Vec<_>>());
            assert!(torn);
            assert_eq!(outcome.unwrap_err().to_string(), "error: cannot do it");
        }
    }

    #[test]
    fn a_failing_source_lets_its_jobs_be_written() {
        for threads in [1, 2, 8] {
            let source = Numbers {
                fails: true,
                ..to(50)
            };
            let (taken, torn, outcome) = count(source, &Slow::default(), threads, None);
            assert_eq!(taken.len(), 50);
            assert!(torn && outcome.is_err());
        }
    }

    /// Even if later lots were split before it.
    #[test]
    fn a_lot_that_cannot_be_split_lets_those_before_it_be_written() {
        for threads in [1, 2, 8] {
            let worker = Slow {
                splits_to: Some(100),
                ..Slow::default()
            };
            let (taken, torn, outcome) = count(to(200), &worker, threads, None);
            assert_eq!(taken, (0..98).collect::<Vec<_>>(), "{threads} threads");
            assert!(torn);
            assert_eq!(outcome.unwrap_err().to_string(), "fatal: cannot split it");
        }
    }

    /// A worker gives up what it splits with when all is split, so a split that still runs, or comes
    /// later, would find nothing.
    #[test]
    fn nothing_is_split_after_the_last_even_if_a_split_fails() {
        let limits = Limits {
            threads: Some(8),
            max_threads: usize::MAX,
            budget: 1 << 20,
            lots: 64,
        };
        for fails_from in (0..60).map(|lot| lot * LOT) {
            let worker = Slow {
                splits_to: Some(fails_from),
                ..Slow::default()
            };
            let (_, taken, _, outcome) = limited(to(600), &worker, limits, None);
            assert_eq!(outcome.unwrap_err().to_string(), "fatal: cannot split it");
            assert_eq!(taken, (0..fails_from).collect::<Vec<_>>());
            assert!(worker.closed.into_inner() <= 1);
        }
    }

    #[test]
    fn a_full_sink_and_a_panic_stop_everything() {
        for threads in [1, 2, 8] {
            let (taken, _, outcome) = count(to(500), &Slow::default(), threads, Some(20));
            assert_eq!(taken.len(), 20);
            assert!(outcome.is_err());
            let worker = Slow {
                panics_at: Some(41),
                ..Slow::default()
            };
            let (taken, torn, outcome) = count(to(500), &worker, threads, None);
            assert!(taken.len() <= 41 && torn);
            assert!(outcome.unwrap_err().to_string().contains("panicked"));
        }
    }
}
