//! The coordinator: hands out tasks, takes reports, and writes in order, on the calling thread.
//!
//! The coordinator owns all state. Helpers receive tasks over one channel and report over another.
//! Where the coordinator would wait, it carries out a task itself, so `n` threads keep `n` processors
//! busy and a single thread is a plain loop of plan, split, work and write. Every run ends in one way:
//! the coordinator drops its end of the channels, and the helpers return.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use super::{
    Limits, Made, Sink, Source, Times, Worker,
    processors::{Sharing, helpful_threads, processor_count},
    queue::{Queue, Ticket},
    window::{Admitted, Done, Window},
};
use crate::base::{
    error::{Error, Result},
    sync::{
        channel::{Receiver, Sender, select_biased, unbounded},
        thread::{self, Scope},
    },
};

/// The stack of a helper, in bytes. A limit of memory counts stacks whole, so the 2 MiB of the standard library times
/// many threads would take the memory of the archive.
const STACK: usize = 512 << 10;
/// How often a run looks for processors to spare.
const LOOK: Duration = Duration::from_millis(20);
/// The planned bytes from which a thread is worth its start on a shared processor.
const WORTH_SHARING: usize = 2 << 20;

/// A task for a thread. Sources are large, and the channels make room for many tasks at once.
enum Task<S, W: Worker> {
    Plan(Ticket, Box<S>),
    Split(Ticket, W::Batch),
    Work(Admitted<W>),
    /// Tell the worker that all is split.
    Close,
    /// Leave the processor to others.
    Leave,
}

/// The outcome of a task.
enum Outcome<S: Source, W: Worker> {
    Planned(Ticket, Box<S>, Result<Made<S::Batch>>),
    Split(Ticket, Result<Vec<W::Job>>),
    Worked(u64, W::Output, Result<Option<W::Job>>),
    Nothing,
    Panicked(Box<dyn Any + Send>),
}

struct Report<S: Source, W: Worker> {
    outcome: Outcome<S, W>,
    took: Duration,
}

/// The ends of the channels that a thread takes tasks from.
struct Tasks<S, W: Worker> {
    /// Planning and splitting, which give all threads work, come first.
    plans: Receiver<Task<S, W>>,
    jobs: Receiver<Task<S, W>>,
}

impl<S, W: Worker> Clone for Tasks<S, W> {
    fn clone(&self) -> Self {
        Self {
            plans: self.plans.clone(),
            jobs: self.jobs.clone(),
        }
    }
}

impl<S, W: Worker> Tasks<S, W> {
    /// Waits for the next task; `None` once the coordinator has ended.
    fn receive(&self) -> Option<Task<S, W>> {
        select_biased! {
            recv(self.plans) -> task => task.ok(),
            recv(self.jobs) -> task => task.ok(),
        }
    }

    /// The next task for the coordinator, if there is one now. Jobs are short and come first: while the
    /// coordinator plans, it hands out nothing, and the helpers run dry. Plans come first where they are `urgent`.
    fn try_receive(&self, urgent: bool) -> Option<Task<S, W>> {
        let job = || self.jobs.try_recv().ok();
        let plan = || self.plans.try_recv().ok();
        if urgent {
            plan().or_else(job)
        } else {
            job().or_else(plan)
        }
    }
}

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
        coordinator.discard_tasks();
        let outcome = ended.unwrap_or_else(|_| {
            sink.abandon(&mut W::Output::default());
            Err(Error::fatal("internal error: a thread panicked"))
        });
        (coordinator.times, outcome)
    })
}

struct Coordinator<'scope, 'env, S: Source, W: Worker> {
    worker: &'env W,
    scope: &'scope Scope<'scope, 'env>,
    scratch: W::Scratch,
    limits: Limits,
    /// The number of threads allowed now, this one included.
    threads: usize,
    /// The number of threads on an idle machine. Unknown until further threads are worth their start.
    wanted: Option<usize>,
    /// When the run last looked for processors to spare.
    looked: Instant,
    /// The share of a processor from which a helper is worth its start.
    sharing: Sharing,
    helpers: usize,
    queue: Queue<Box<S>, W::Job>,
    window: Window<'env, W>,
    /// The number of batches that are being split.
    splitting: usize,
    /// The number of tasks without a report.
    outstanding: usize,
    is_closed: bool,
    plans: Sender<Task<S, W>>,
    jobs: Sender<Task<S, W>>,
    tasks: Tasks<S, W>,
    reports: Receiver<Report<S, W>>,
    reporter: Sender<Report<S, W>>,
    times: Times,
}

impl<'scope, 'env, S, W> Coordinator<'scope, 'env, S, W>
where
    S: Source<Batch = W::Batch> + 'scope,
    W: Worker,
{
    fn new(source: S, worker: &'env W, scope: &'scope Scope<'scope, 'env>, limits: Limits) -> Self {
        // The window and the queue bound the tasks, and every report belongs to a task.
        let (plans, planning) = unbounded();
        let (jobs, working) = unbounded();
        let (reporter, reports) = unbounded();
        Self {
            worker,
            scope,
            scratch: worker.scratch(),
            limits,
            threads: 1,
            wanted: None,
            looked: Instant::now(),
            sharing: Sharing::Alone,
            helpers: 0,
            queue: Queue::new(Box::new(source)),
            window: Window::new(worker, limits.budget),
            splitting: 0,
            outstanding: 0,
            is_closed: false,
            plans,
            jobs,
            tasks: Tasks {
                plans: planning,
                jobs: working,
            },
            reports,
            reporter,
            times: Times::default(),
        }
    }

    fn run<K: Sink<W::Output>>(&mut self, sink: &mut K) -> Result<()> {
        loop {
            while let Ok(report) = self.reports.try_recv() {
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
            } else if let Some(task) = self.tasks.try_receive(self.window.planned() == 0) {
                if matches!(task, Task::Leave) {
                    self.helpers += 1; // All helpers were busy: one leaves if there are still too many.
                    continue;
                }
                let report = run_task(self.worker, &mut self.scratch, task);
                self.take(report);
            } else if let Ok(report) = self.reports.recv() {
                self.take(report);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.queue.is_empty() && self.window.is_empty()
    }

    /// Leaves nothing for the helpers to take.
    fn discard_tasks(&self) {
        while self.tasks.try_receive(true).is_some() {}
    }

    /// Hands out all tasks that the bounds allow now: first those that give all threads work.
    fn hand_out(&mut self) {
        if self.wanted.is_some() && self.looked.elapsed() > LOOK {
            self.sharing = Sharing::Half;
            self.look_for_processors();
        }
        let max_queued = self.limits.queued.max(self.threads);
        if self.window.wants_jobs(self.threads)
            && self.splitting <= self.threads / 4
            && let Some((ticket, source)) = self.queue.take_next(max_queued)
        {
            self.send_plan(Task::Plan(ticket, source));
        }
        while let Some(admitted) = self.window.admit(self.threads) {
            self.send_job(Task::Work(admitted));
        }
        while self.is_starved()
            && let Some((ticket, source)) = self.queue.take_later(self.limits.queued)
        {
            self.send_plan(Task::Plan(ticket, source));
        }
        while self.outstanding > self.helpers + 1 && self.helpers + 1 < self.threads {
            self.start_helper();
        }
    }

    /// Set the number of threads: the requested number, by default no more than help now.
    fn look_for_processors(&mut self) {
        let wanted = self.wanted.unwrap_or(1);
        self.looked = Instant::now();
        self.threads = match self.limits.threads {
            None if wanted > 1 => helpful_threads(wanted, self.helpers + 1, self.sharing),
            _ => wanted,
        };
        while self.helpers + 1 > self.threads {
            self.helpers -= 1;
            let _ = self.plans.send(Task::Leave);
        }
    }

    /// Whether a thread has nothing to do because nothing is planned.
    fn is_starved(&self) -> bool {
        self.threads > 1 && self.window.planned() == 0 && self.outstanding < self.threads
    }

    fn send_plan(&mut self, task: Task<S, W>) {
        self.outstanding += 1;
        let _ = self.plans.send(task);
    }

    fn send_job(&mut self, task: Task<S, W>) {
        self.outstanding += 1;
        let _ = self.jobs.send(task);
    }

    fn start_helper(&mut self) {
        let (worker, tasks, reporter) = (self.worker, self.tasks.clone(), self.reporter.clone());
        let name = format!("sluice-{}", self.helpers + 1);
        let helper = thread::Builder::new()
            .name(name)
            .stack_size(STACK)
            .spawn_scoped(self.scope, move || help(worker, &tasks, &reporter));
        match helper {
            Ok(_) => self.helpers += 1,
            // Fewer threads do the same work.
            Err(_) => {
                self.wanted = Some(self.helpers + 1);
                self.threads = self.helpers + 1;
            }
        }
    }

    fn take(&mut self, report: Report<S, W>) {
        self.outstanding -= 1;
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
            let divides = self.is_starved() && self.queue.wants_source(self.limits.queued);
            let later = divides.then(|| source.fork()).flatten();
            sources.push(source);
            sources.extend(later.map(Box::new));
        }
        if self.queue.planned(ticket, sources.into_iter()) {
            self.splitting += 1;
            self.send_plan(Task::Split(ticket, batch));
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
        if self.wanted.is_none() && (!self.queue.is_empty() || self.window.planned() > 1) {
            let threads = self.limits.threads.unwrap_or_else(processor_count);
            self.wanted = Some(threads.min(self.limits.max_threads));
            self.look_for_processors();
        }
        if self.sharing == Sharing::Alone && self.window.planned_cost() >= WORTH_SHARING {
            self.sharing = Sharing::Half;
            if self.wanted.is_some_and(|wanted| self.threads < wanted) {
                self.look_for_processors();
            }
        }
        if self.queue.is_empty() && self.splitting == 0 && !self.is_closed {
            self.is_closed = true;
            self.send_plan(Task::Close);
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

/// The loop of a helper: tasks, until the coordinator has ended.
fn help<S, W>(worker: &W, tasks: &Tasks<S, W>, reporter: &Sender<Report<S, W>>)
where
    S: Source<Batch = W::Batch>,
    W: Worker,
{
    let mut scratch = worker.scratch();
    while let Some(task) = tasks.receive() {
        if matches!(task, Task::Leave) {
            return;
        }
        if reporter.send(run_task(worker, &mut scratch, task)).is_err() {
            return;
        }
    }
}

/// Carries out one task. A panic becomes an outcome, so that it ends the run as a failure does.
fn run_task<S, W>(worker: &W, scratch: &mut W::Scratch, task: Task<S, W>) -> Report<S, W>
where
    S: Source<Batch = W::Batch>,
    W: Worker,
{
    let started = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| match task {
        Task::Plan(ticket, mut source) => {
            let made = source.next();
            Outcome::Planned(ticket, source, made)
        }
        Task::Split(ticket, batch) => Outcome::Split(ticket, worker.split(batch)),
        Task::Work(Admitted {
            number,
            job,
            mut output,
        }) => {
            let rest = worker.work(scratch, job, &mut output);
            Outcome::Worked(number, output, rest)
        }
        Task::Close => {
            worker.all_split();
            Outcome::Nothing
        }
        Task::Leave => Outcome::Nothing,
    }));
    Report {
        outcome: outcome.unwrap_or_else(Outcome::Panicked),
        took: started.elapsed(),
    }
}
