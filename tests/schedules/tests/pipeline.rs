//! The coordinator of the pipeline in many schedules of its threads: whatever their order, outputs are written in the order of
//! the plan, within the budget, up to the first failure, and every run ends.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use schedules::{
    error::{Error, Result},
    explore,
    pipeline::{Limits, Made, Sink, Source, Worker, run},
};
use shuttle::thread;

/// Numbers in a batch.
const BATCH: u32 = 3;
/// The numbers of a run.
const ALL: u32 = 13;
/// The bytes that a job may take, of any unit.
const COST: usize = 10;
/// The jobs that the budget admits.
const ADMITTED: usize = 3;
/// Schedules of each scheduler.
const SCHEDULES: usize = 150;

/// Where a run fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Plan,
    Split,
    Work(u32),
    Panic(u32),
    Write(usize),
}

/// Counts to a number, in batches.
struct Numbers {
    next: u32,
    end: u32,
    fails: bool,
}

impl Source for Numbers {
    type Batch = Range<u32>;

    fn next(&mut self) -> Result<Made<Range<u32>>> {
        thread::yield_now();
        if self.next == self.end && self.fails {
            return Err(Error("cannot count on"));
        }
        let to = (self.next + BATCH).min(self.end);
        let batch = self.next..to;
        self.next = to;
        Ok(Made {
            batch,
            last: to == self.end && !self.fails,
        })
    }

    fn fork(&mut self) -> Option<Self> {
        let middle = self.next.midpoint(self.end);
        let later = Self {
            next: middle,
            ..*self
        };
        (self.end, self.fails) = (middle, false);
        Some(later)
    }
}

/// Passes numbers on. Every fourth is left to the writer.
struct Pass {
    fault: Fault,
    /// Jobs that are begun and not yet written, without those that are left to the writer.
    flying: AtomicUsize,
    most: AtomicUsize,
    splitting: AtomicUsize,
    closed: AtomicUsize,
}

impl Worker for Pass {
    type Batch = Range<u32>;
    type Job = u32;
    type Output = Vec<u32>;
    type Scratch = ();

    fn scratch(&self) {}

    fn split(&self, batch: Range<u32>) -> Result<Vec<u32>> {
        self.splitting.fetch_add(1, SeqCst);
        assert_eq!(self.closed.load(SeqCst), 0, "a batch after the last");
        thread::yield_now();
        self.splitting.fetch_sub(1, SeqCst);
        match self.fault {
            Fault::Split if batch.contains(&7) => Err(Error("cannot split")),
            _ => Ok(batch.collect()),
        }
    }

    fn all_split(&self) {
        assert_eq!(self.splitting.load(SeqCst), 0, "closed too early");
        self.closed.fetch_add(1, SeqCst);
    }

    fn cost(&self, _: &u32) -> usize {
        COST
    }

    fn held(&self, output: &Vec<u32>) -> usize {
        output.len() * COST
    }

    fn len(&self, output: &Vec<u32>) -> usize {
        self.held(output)
    }

    fn work(&self, (): &mut (), job: u32, output: &mut Vec<u32>) -> Result<Option<u32>> {
        let flying = self.flying.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(flying, SeqCst);
        thread::yield_now();
        match self.fault {
            Fault::Work(at) if at == job => return Err(Error("cannot work")),
            Fault::Panic(at) => assert_ne!(at, job, "asked to panic"),
            _ => {}
        }
        if job.is_multiple_of(4) {
            self.flying.fetch_sub(1, SeqCst);
            return Ok(Some(job));
        }
        output.push(job);
        Ok(None)
    }

    fn finish(&self, (): &mut (), rest: u32, sink: &mut dyn Sink<Vec<u32>>) -> Result<()> {
        sink.write(&mut vec![rest])
    }
}

/// Takes numbers.
struct Taken<'a> {
    numbers: Vec<u32>,
    is_torn: bool,
    worker: &'a Pass,
}

impl Sink<Vec<u32>> for Taken<'_> {
    fn write(&mut self, output: &mut Vec<u32>) -> Result<()> {
        thread::yield_now();
        if self.worker.fault == Fault::Write(self.numbers.len()) {
            return Err(Error("cannot write"));
        }
        let own = output.iter().filter(|number| !number.is_multiple_of(4));
        self.worker.flying.fetch_sub(own.count(), SeqCst);
        self.numbers.append(output);
        Ok(())
    }

    fn abandon(&mut self, _: &mut Vec<u32>) {
        self.is_torn = true;
    }
}

/// One run, whose result is compared with what the fault allows.
fn check(threads: usize, fault: Fault) {
    let worker = Pass {
        fault,
        flying: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        splitting: AtomicUsize::new(0),
        closed: AtomicUsize::new(0),
    };
    let source = Numbers {
        next: 0,
        end: ALL,
        fails: fault == Fault::Plan,
    };
    let mut sink = Taken {
        numbers: Vec::new(),
        is_torn: false,
        worker: &worker,
    };
    let limits = Limits {
        threads: Some(threads),
        max_threads: usize::MAX,
        budget: ADMITTED * COST,
        queued: 4,
    };
    let (_, outcome) = run(source, &worker, &mut sink, limits);
    let whole = Vec::from_iter(0..ALL);
    let is_start = whole.starts_with(&sink.numbers);
    assert!(is_start, "{:?}", sink.numbers);
    let expected = match fault {
        Fault::None => (whole.len(), None),
        Fault::Plan => (whole.len(), Some("cannot count on")),
        Fault::Work(at) => (at as usize, Some("cannot work")),
        Fault::Write(at) => (at, Some("cannot write")),
        // The whole batch is lost.
        Fault::Split => (sink.numbers.len().min(7), Some("cannot split")),
        // The panic may be noticed before everything in front of it is written.
        Fault::Panic(at) => {
            let len = sink.numbers.len().min(at as usize);
            (len, Some("internal error: a thread panicked"))
        }
    };
    let failure = outcome.err().map(|Error(text)| text);
    assert_eq!((sink.numbers.len(), failure), expected);
    assert_eq!(
        sink.is_torn,
        !matches!(fault, Fault::None | Fault::Write(_))
    );
    // Another one is admitted while one is written.
    assert!(
        worker.most.load(SeqCst) <= ADMITTED + 1,
        "beyond the budget"
    );
    if fault == Fault::None {
        assert_eq!(worker.closed.load(SeqCst), 1);
    }
}

#[test]
fn everything_is_written_in_order() {
    for threads in 2..=4 {
        explore(SCHEDULES, move || check(threads, Fault::None));
    }
}

#[test]
fn nothing_follows_a_failure() {
    let faults = [
        Fault::Plan,
        Fault::Split,
        Fault::Work(0),
        Fault::Work(7),
        Fault::Work(ALL - 1),
        Fault::Write(0),
        Fault::Write(6),
    ];
    for fault in faults {
        explore(SCHEDULES, move || check(4, fault));
    }
}

#[test]
fn a_panic_ends_the_run() {
    explore(SCHEDULES, || check(3, Fault::Panic(5)));
}
