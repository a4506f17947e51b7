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
        queued: 16,
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
        enough: usize::MAX,
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

/// Every job yields more than may wait.
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
        queued: 16,
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
            queued: 16,
        };
        let (_, taken, ..) = limited(source, &Slow::default(), limits, None);
        assert_eq!(taken, (0..500).collect::<Vec<_>>());
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
            let (times, ..) = timed(to(200), &worker, threads, None);
            assert!(times.work >= (0..done).map(pause).sum());
            assert!(!times.plan.is_zero() && !times.write.is_zero());
        }
    }
}

#[test]
fn a_budget_of_nothing_does_one_job_after_the_other() {
    for threads in [1, 2, 8] {
        let limits = Limits {
            threads: Some(threads),
            max_threads: usize::MAX,
            budget: 0,
            queued: 0,
        };
        let (_, taken, _, outcome) = limited(to(100), &Slow::default(), limits, None);
        assert!(outcome.is_ok());
        assert_eq!(taken, (0..100).collect::<Vec<_>>(), "{threads} threads");
    }
}

#[test]
fn a_sink_that_wants_no_more_ends_the_run() {
    for threads in [1, 2, 8] {
        let worker = Slow::default();
        let limits = Limits {
            threads: Some(threads),
            max_threads: usize::MAX,
            budget: 80,
            queued: 16,
        };
        let mut sink = Collect {
            taken: Vec::new(),
            torn: false,
            full_at: None,
            enough: 50,
            worker: &worker,
        };
        let (_, outcome) = run(to(200), &worker, &mut sink, limits);
        assert!(outcome.is_ok() && !sink.torn, "{threads} threads");
        assert_eq!(sink.taken, (0..50).collect::<Vec<_>>());
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

/// Even if later batches were split before it.
#[test]
fn a_batch_that_cannot_be_split_lets_those_before_it_be_written() {
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

/// A worker drops its state for splitting when all is split, so a split that still runs, or comes later,
/// would fail.
#[test]
fn nothing_is_split_after_the_last_even_if_a_split_fails() {
    let limits = Limits {
        threads: Some(8),
        max_threads: usize::MAX,
        budget: 1 << 20,
        queued: 64,
    };
    for fails_from in (0..60).map(|batch| batch * BATCH) {
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
