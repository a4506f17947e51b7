//! The coordinator: hands out tasks, takes reports, and writes in order, on the calling thread.
//!
//! The coordinator owns all state. Where it would wait, it carries out a task itself, so `n` threads keep `n` processors
//! busy and a single thread is a plain loop of plan, split, work and write. Every run ends in one way: the coordinator
//! drops its end of the channels, and the helpers return.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Instant,
};

use super::{
    Limits, Made, Sink, Source, Times, Worker,
    helpers::{Helpers, Outcome, Report, Task, run_task},
    processors::ThreadCount,
    queue::{Queue, Ticket},
    window::{Done, Window},
};
use crate::{
    error::{Error, Result},
    sync::thread::{self, Scope},
};

/// The planned bytes from which a thread is worth its start on a shared processor.
const WORTH_SHARING: usize = 2 << 20;

/// Run everything that `source` plans through `worker` into `sink`. A failed run reports its times too.
pub fn run<S, W, K>(source: S, worker: &W, sink: &mut K, limits: Limits) -> (Times, Result<()>)
where
    S: Source<Batch = W::Batch>,
    W: Worker,
    K: Sink<W::Output>,
{
    thread::scope(|scope| {
        let mut coordinator = Coordinator::new(source, worker, scope, limits);
        let ended = catch_unwind(AssertUnwindSafe(|| coordinator.run(sink)));
        coordinator.helpers.discard_tasks();
        let outcome = ended.unwrap_or_else(|_| {
            sink.abandon(&mut W::Output::default());
            Err(Error::fatal("internal error: a thread panicked"))
        });
        (coordinator.times, outcome)
    })
}

struct Coordinator<'scope, 'env, S: Source, W: Worker> {
    worker: &'env W,
    scratch: W::Scratch,
    /// The most batches that wait to be split.
    queued: usize,
    threads: ThreadCount,
    helpers: Helpers<'scope, 'env, S, W>,
    queue: Queue<Box<S>, W::Job>,
    window: Window<'env, W>,
    /// The number of batches that are being split.
    splitting: usize,
    is_closed: bool,
    times: Times,
}

impl<'scope, 'env, S, W> Coordinator<'scope, 'env, S, W>
where
    S: Source<Batch = W::Batch> + 'scope,
    W: Worker,
{
    fn new(source: S, worker: &'env W, scope: &'scope Scope<'scope, 'env>, limits: Limits) -> Self {
        Self {
            worker,
            scratch: worker.scratch(),
            queued: limits.queued,
            threads: ThreadCount::new(limits.threads, limits.max_threads),
            helpers: Helpers::new(worker, scope),
            queue: Queue::new(Box::new(source)),
            window: Window::new(worker, limits.budget),
            splitting: 0,
            is_closed: false,
            times: Times::default(),
        }
    }

    fn run<K: Sink<W::Output>>(&mut self, sink: &mut K) -> Result<()> {
        loop {
            while let Some(report) = self.helpers.next_report() {
                self.take(report);
            }
            self.hand_out();
            if let Some(done) = self.window.pop() {
                self.write(done, sink)?;
                if sink.is_done() {
                    return Ok(());
                }
            } else if self.is_finished() {
                return Ok(());
            } else if let Some(task) = self.helpers.next_task(self.window.planned() == 0) {
                let report = run_task(self.worker, &mut self.scratch, task);
                self.take(report);
            } else if let Some(report) = self.helpers.wait_for_report() {
                self.take(report);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.queue.is_empty() && self.window.is_empty()
    }

    /// Hands out all tasks that the bounds allow now: first those that give all threads work.
    fn hand_out(&mut self) {
        if self.threads.is_due() {
            self.threads.share();
            self.look_for_processors();
        }
        let threads = self.threads.now();
        if self.window.wants_jobs(threads)
            && self.splitting <= threads / 4
            && let Some((ticket, source)) = self.queue.take_next(self.queued.max(threads))
        {
            self.helpers.send_plan(Task::Plan(ticket, source));
        }
        while let Some(admitted) = self.window.admit(threads) {
            self.helpers.send_job(Task::Work(admitted));
        }
        while self.is_starved()
            && let Some((ticket, source)) = self.queue.take_later(self.queued)
        {
            self.helpers.send_plan(Task::Plan(ticket, source));
        }
        while self.helpers.outstanding() > self.active() && self.active() < self.threads.now() {
            if !self.helpers.start() {
                // Fewer threads do the same work.
                self.threads.end_at(self.active());
            }
        }
    }

    /// The number of threads that there are, this one included.
    fn active(&self) -> usize {
        self.helpers.count() + 1
    }

    fn look_for_processors(&mut self) {
        self.threads.look(self.active());
        while self.active() > self.threads.now() {
            self.helpers.dismiss();
        }
    }

    /// Whether a thread has nothing to do because nothing is planned.
    fn is_starved(&self) -> bool {
        let threads = self.threads.now();
        threads > 1 && self.window.planned() == 0 && self.helpers.outstanding() < threads
    }

    fn take(&mut self, report: Report<S, W>) {
        self.helpers.reported();
        match report.outcome {
            Outcome::Planned(ticket, source, made) => {
                self.times.plan += report.took;
                self.planned(ticket, source, made);
            }
            Outcome::Split(ticket, jobs) => {
                self.times.plan += report.took;
                self.splitting -= 1;
                self.queue.split(ticket, jobs);
                self.line_up();
            }
            Outcome::Worked(number, output, rest) => {
                self.times.work += report.took;
                self.window.done(number, output, rest);
            }
            Outcome::Nothing => {}
            Outcome::Panicked(panic) => resume_unwind(panic),
        }
    }

    /// Have a planned batch split. Two sources plan the later part if a thread is idle.
    fn planned(&mut self, ticket: Ticket, mut source: Box<S>, made: Result<Made<S::Batch>>) {
        let Made { batch, last } = match made {
            Ok(made) => made,
            Err(error) => {
                self.queue.split(ticket, Err(error));
                return self.line_up();
            }
        };
        let mut sources = Vec::new();
        if !last {
            let divides = self.is_starved() && self.queue.wants_source(self.queued);
            let later = divides.then(|| source.fork()).flatten();
            sources.push(source);
            sources.extend(later.map(Box::new));
        }
        if self.queue.planned(ticket, sources.into_iter()) {
            self.splitting += 1;
            self.helpers.send_plan(Task::Split(ticket, batch));
        }
    }

    /// Move split jobs into the window, in order.
    fn line_up(&mut self) {
        while let Some(jobs) = self.queue.pop() {
            match jobs {
                Ok(jobs) => jobs.into_iter().for_each(|job| self.window.push(Ok(job))),
                Err(error) => self.window.push(Err(error)),
            }
        }
        if !self.threads.is_wanted() && (!self.queue.is_empty() || self.window.planned() > 1) {
            self.threads.want();
            self.look_for_processors();
        }
        if !self.threads.is_sharing() && self.window.planned_cost() >= WORTH_SHARING {
            self.threads.share();
            if self.threads.is_short() {
                self.look_for_processors();
            }
        }
        if self.queue.is_empty() && self.splitting == 0 && !self.is_closed {
            self.is_closed = true;
            self.helpers.send_plan(Task::Close);
        }
    }

    fn write<K: Sink<W::Output>>(&mut self, done: Done<W>, sink: &mut K) -> Result<()> {
        let (mut output, rest, held) = done.into_parts();
        let started = Instant::now();
        let outcome = match rest {
            Ok(None) => sink.write(&mut output),
            Ok(Some(rest)) => sink
                .write(&mut output)
                .and_then(|()| self.worker.finish(&mut self.scratch, rest, sink)),
            Err(error) => {
                sink.abandon(&mut output);
                Err(error)
            }
        };
        self.times.write += started.elapsed();
        self.window.recycle(output, held);
        outcome
    }
}
