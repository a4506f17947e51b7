//! The pipeline with counting sources, workers and outputs.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{Limits, Made, Sink, Source, Times, Worker, run};
use crate::error::{Error, Result};

/// Numbers in a batch.
const BATCH: u32 = 7;

/// Counts to a number, in batches, and may fail or panic on the way.
struct Numbers {
    next: u32,
    end: u32,
    fails: bool,
    forks: Arc<AtomicUsize>,
}

impl Source for Numbers {
    type Batch = Range<u32>;

    fn next(&mut self) -> Result<Made<Range<u32>>> {
        if self.next == self.end && self.fails {
            return Err(Error::fatal("cannot count on"));
        }
        let to = (self.next + BATCH).min(self.end);
        let batch = self.next..to;
        self.next = to;
        std::thread::sleep(pause(batch.start));
        Ok(Made {
            batch,
            last: to == self.end && !self.fails,
        })
    }

    fn fork(&mut self) -> Option<Self> {
        let middle = self.next.midpoint(self.end).next_multiple_of(BATCH);
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
    /// How often the pipeline reported that all batches are split.
    closed: AtomicUsize,
}

impl Worker for Slow {
    type Batch = Range<u32>;
    type Job = u32;
    type Output = Vec<u32>;
    type Scratch = ();

    fn scratch(&self) {}

    fn split(&self, batch: Range<u32>) -> Result<Vec<u32>> {
        let is_closed = || self.closed.load(Ordering::SeqCst) > 0;
        assert!(!is_closed(), "a batch is split after the last");
        std::thread::sleep(pause(batch.start));
        assert!(!is_closed(), "a batch is still being split");
        match self.splits_to {
            Some(to) if batch.end > to => Err(Error::fatal("cannot split it")),
            _ => Ok(batch.collect()),
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
    /// The number of outputs after which no more are wanted.
    enough: usize,
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

    fn is_done(&self) -> bool {
        self.taken.len() >= self.enough
    }

    fn abandon(&mut self, output: &mut Vec<u32>) {
        self.taken.append(output);
        self.torn = true;
    }
}

/// What became of a run.
struct Ran {
    times: Times,
    taken: Vec<u32>,
    torn: bool,
    outcome: Result<()>,
}

/// The budget of most runs, for so many threads.
fn limits(threads: usize) -> Limits {
    Limits {
        threads: Some(threads),
        max_threads: usize::MAX,
        budget: 80,
        queued: 16,
    }
}

/// Runs with a sink that has room for `room` outputs.
fn run_into(source: Numbers, worker: &Slow, limits: Limits, room: Option<usize>) -> Ran {
    let mut sink = Collect {
        taken: Vec::new(),
        torn: false,
        full_at: room,
        enough: usize::MAX,
        worker,
    };
    let (times, outcome) = run(source, worker, &mut sink, limits);
    Ran {
        times,
        taken: sink.taken,
        torn: sink.torn,
        outcome,
    }
}

fn to(end: u32) -> Numbers {
    Numbers {
        next: 0,
        end,
        fails: false,
        forks: Arc::default(),
    }
}

/// All numbers below `end`.
fn below(end: u32) -> Vec<u32> {
    (0..end).collect()
}

#[test]
fn order_is_kept_within_the_budget() {
    for threads in [1, 2, 8] {
        let worker = Slow::default();
        let ran = run_into(to(200), &worker, limits(threads), None);
        assert_eq!(ran.taken, below(200), "{threads} threads");
        assert!(ran.outcome.is_ok() && !ran.torn);
        assert!(worker.most.into_inner() <= 8 + threads);
    }
}

/// Every job yields more than may wait.
#[test]
fn those_ahead_wait_for_the_first() {
    let worker = Slow {
        heavy: true,
        ..Slow::default()
    };
    let limits = Limits {
        budget: 1 << 30,
        ..limits(2)
    };
    let ran = run_into(to(200), &worker, limits, None);
    assert!(ran.outcome.is_ok());
    assert_eq!(ran.taken, below(200));
}

#[test]
fn the_source_is_forked_where_threads_wait_for_it() {
    for threads in [1, 8] {
        let source = to(500);
        let forks = Arc::clone(&source.forks);
        let limits = Limits {
            budget: 1 << 20,
            ..limits(threads)
        };
        let ran = run_into(source, &Slow::default(), limits, None);
        assert_eq!(ran.taken, below(500));
        assert_eq!(forks.load(Ordering::SeqCst) > 0, threads > 1);
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
            let times = run_into(to(200), &worker, limits(threads), None).times;
            assert!(times.work >= (0..done).map(pause).sum());
            assert!(!times.plan.is_zero() && !times.write.is_zero());
        }
    }
}

#[test]
fn a_budget_of_nothing_does_one_job_after_the_other() {
    for threads in [1, 2, 8] {
        let limits = Limits {
            budget: 0,
            queued: 0,
            ..limits(threads)
        };
        let ran = run_into(to(100), &Slow::default(), limits, None);
        assert!(ran.outcome.is_ok());
        assert_eq!(ran.taken, below(100), "{threads} threads");
    }
}

#[test]
fn a_sink_that_wants_no_more_ends_the_run() {
    for threads in [1, 2, 8] {
        let worker = Slow::default();
        let mut sink = Collect {
            taken: Vec::new(),
            torn: false,
            full_at: None,
            enough: 50,
            worker: &worker,
        };
        let (_, outcome) = run(to(200), &worker, &mut sink, limits(threads));
        assert!(outcome.is_ok() && !sink.torn, "{threads} threads");
        assert_eq!(sink.taken, below(50));
    }
}

#[test]
fn nothing_to_do_is_done() {
    let ran = run_into(to(0), &Slow::default(), limits(4), None);
    assert!(ran.taken.is_empty());
}

/// A failure of a job, of the source, and of a split, even if later batches were split before it: what comes before it is written.
#[test]
fn the_first_failure_in_order_decides() {
    let failing_source = || Numbers {
        fails: true,
        ..to(50)
    };
    let job = |at| Slow {
        fails_at: Some(at),
        ..Slow::default()
    };
    let split = |to| Slow {
        splits_to: Some(to),
        ..Slow::default()
    };
    for threads in [1, 2, 8] {
        for (source, worker, written, message) in [
            (to(200), job(33), 33, "error: cannot do it"),
            (
                failing_source(),
                Slow::default(),
                50,
                "fatal: cannot count on",
            ),
            (to(200), split(100), 98, "fatal: cannot split it"),
        ] {
            let ran = run_into(source, &worker, limits(threads), None);
            assert_eq!(ran.taken, below(written), "{threads} threads");
            assert!(ran.torn);
            assert_eq!(ran.outcome.unwrap_err().to_string(), message);
        }
    }
}

/// A worker drops its state for splitting when all is split, so a split that still runs, or comes later,
/// would fail.
#[test]
fn nothing_is_split_after_the_last_even_if_a_split_fails() {
    let limits = Limits {
        budget: 1 << 20,
        queued: 64,
        ..limits(8)
    };
    for fails_from in (0..60).map(|batch| batch * BATCH) {
        let worker = Slow {
            splits_to: Some(fails_from),
            ..Slow::default()
        };
        let ran = run_into(to(600), &worker, limits, None);
        let message = ran.outcome.unwrap_err().to_string();
        assert_eq!(message, "fatal: cannot split it");
        assert_eq!(ran.taken, below(fails_from));
        assert!(worker.closed.into_inner() <= 1);
    }
}

#[test]
fn a_full_sink_and_a_panic_stop_everything() {
    for threads in [1, 2, 8] {
        let ran = run_into(to(500), &Slow::default(), limits(threads), Some(20));
        assert_eq!(ran.taken.len(), 20);
        assert!(ran.outcome.is_err());
        let worker = Slow {
            panics_at: Some(41),
            ..Slow::default()
        };
        let ran = run_into(to(500), &worker, limits(threads), None);
        assert!(ran.taken.len() <= 41 && ran.torn);
        assert!(ran.outcome.unwrap_err().to_string().contains("panicked"));
    }
}
