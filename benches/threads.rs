//! How the pipeline scales with threads, whatever processors there are: stages that sleep as long as those of
//! a large tree take, so that nobody needs a processor. What does not get shorter here is one thread's.

use std::{ops::Range, thread, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use sluice_base::{
    error::Result,
    pipeline::{Limits, Made, Sink, Source, Worker, run},
};

/// Windows of a plan, and jobs in each.
const BATCHES: u32 = 64;
const JOBS: u32 = 16;
/// What a window takes one thread, without writing.
const BATCH: Duration = Duration::from_millis(10);
/// The parts of the walk and of locating in that, in percent: those of rails, the largest that were seen.
const WALK: u32 = 12;
const LOCATE: u32 = 13;

fn sleep(percent: u32) {
    thread::sleep(BATCH * percent / 100);
}

struct Walk(Range<u32>);

impl Source for Walk {
    type Batch = ();

    fn next(&mut self) -> Result<Made<()>> {
        sleep(WALK);
        self.0.next();
        Ok(Made {
            batch: (),
            last: self.0.is_empty(),
        })
    }

    fn fork(&mut self) -> Option<Self> {
        let middle = self.0.start.midpoint(self.0.end);
        (middle > self.0.start).then(|| {
            let later = Self(middle..self.0.end);
            self.0.end = middle;
            later
        })
    }
}

struct Decode;

impl Worker for Decode {
    type Batch = ();
    type Job = ();
    type Output = ();
    type Scratch = ();

    fn scratch(&self) {}

    fn split(&self, (): ()) -> Result<Vec<()>> {
        sleep(LOCATE);
        Ok(vec![(); JOBS as usize])
    }

    fn cost(&self, (): &()) -> usize {
        1
    }

    fn held(&self, (): &()) -> usize {
        1
    }

    fn len(&self, (): &()) -> usize {
        1
    }

    fn work(&self, (): &mut (), (): (), (): &mut ()) -> Result<Option<()>> {
        thread::sleep(BATCH * (100 - WALK - LOCATE) / 100 / JOBS);
        Ok(None)
    }

    fn finish(&self, (): &mut (), (): (), _: &mut dyn Sink<()>) -> Result<()> {
        unreachable!("no work is left to the writer")
    }
}

/// Takes this part of the time of all other stages, in percent.
struct Write(u32);

impl Sink<()> for Write {
    fn write(&mut self, (): &mut ()) -> Result<()> {
        if self.0 > 0 {
            thread::sleep(BATCH * self.0 / 100 / JOBS);
        }
        Ok(())
    }

    fn abandon(&mut self, (): &mut ()) {}
}

fn threads(criterion: &mut Criterion) {
    for (name, percent) in [("null", 0), ("pipe", 15)] {
        let mut group = criterion.benchmark_group(format!("threads/{name}"));
        group.sample_size(10);
        for threads in [1, 2, 4, 8, 16, 32] {
            let limits = Limits {
                threads: Some(threads),
                max_threads: threads,
                budget: 1 << 20,
                queued: 32,
            };
            group.bench_function(threads.to_string(), |bencher| {
                bencher.iter(|| {
                    let (_, outcome) = run(Walk(0..BATCHES), &Decode, &mut Write(percent), limits);
                    outcome.expect("nothing fails");
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, threads);
criterion_main!(benches);
