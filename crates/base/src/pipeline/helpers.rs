//! The helpers: threads that take tasks over one channel and report over another.
//!
//! Must not decide how many there are, nor what is done next: the coordinator does.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use super::{Made, Source, Worker, queue::Ticket, window::Admitted};
use crate::{
    error::Result,
    sync::{
        channel::{Receiver, Sender, select_biased, unbounded},
        thread::{self, Scope},
    },
};

/// The stack of a helper, in bytes. A limit of memory counts stacks whole, so the 2 MiB of the standard library times
/// many threads would take the memory of the archive.
const STACK: usize = 512 << 10;

/// A task for a thread. Sources are large, and the channels make room for many tasks at once.
pub(super) enum Task<S, W: Worker> {
    Plan(Ticket, Box<S>),
    Split(Ticket, W::Batch),
    Work(Admitted<W>),
    /// Tell the worker that all is split.
    Close,
    /// Leave the processor to others.
    Leave,
}

/// The outcome of a task.
pub(super) enum Outcome<S: Source, W: Worker> {
    Planned(Ticket, Box<S>, Result<Made<S::Batch>>),
    Split(Ticket, Result<Vec<W::Job>>),
    Worked(u64, W::Output, Result<Option<W::Job>>),
    Nothing,
    Panicked(Box<dyn Any + Send>),
}

pub(super) struct Report<S: Source, W: Worker> {
    pub(super) outcome: Outcome<S, W>,
    pub(super) took: Duration,
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

/// The helpers of one run, and both channels.
pub(super) struct Helpers<'scope, 'env, S: Source, W: Worker> {
    worker: &'env W,
    scope: &'scope Scope<'scope, 'env>,
    count: usize,
    /// The number of tasks without a report.
    outstanding: usize,
    plans: Sender<Task<S, W>>,
    jobs: Sender<Task<S, W>>,
    tasks: Tasks<S, W>,
    reports: Receiver<Report<S, W>>,
    reporter: Sender<Report<S, W>>,
}

impl<'scope, 'env, S, W> Helpers<'scope, 'env, S, W>
where
    S: Source<Batch = W::Batch> + 'scope,
    W: Worker,
{
    /// Without a helper yet.
    pub(super) fn new(worker: &'env W, scope: &'scope Scope<'scope, 'env>) -> Self {
        // The window and the queue bound the tasks, and every report belongs to a task.
        let (plans, planning) = unbounded();
        let (jobs, working) = unbounded();
        let (reporter, reports) = unbounded();
        Self {
            worker,
            scope,
            count: 0,
            outstanding: 0,
            plans,
            jobs,
            tasks: Tasks {
                plans: planning,
                jobs: working,
            },
            reports,
            reporter,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number of tasks that nobody has reported on.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Counts a report.
    pub(super) fn reported(&mut self) {
        self.outstanding -= 1;
    }

    /// Sends a task that gives all threads work.
    pub(super) fn send_plan(&mut self, task: Task<S, W>) {
        self.outstanding += 1;
        let _ = self.plans.send(task);
    }

    /// Sends a task.
    pub(super) fn send_job(&mut self, task: Task<S, W>) {
        self.outstanding += 1;
        let _ = self.jobs.send(task);
    }

    /// The next report, if there is one now.
    pub(super) fn next_report(&self) -> Option<Report<S, W>> {
        self.reports.try_recv().ok()
    }

    /// The next report.
    pub(super) fn wait_for_report(&self) -> Option<Report<S, W>> {
        self.reports.recv().ok()
    }

    /// A task for the coordinator, if there is one now.
    pub(super) fn next_task(&mut self, urgent: bool) -> Option<Task<S, W>> {
        loop {
            match self.tasks.try_receive(urgent)? {
                // All helpers were busy: one leaves if there are still too many.
                Task::Leave => self.count += 1,
                task => return Some(task),
            }
        }
    }

    /// Leaves nothing for the helpers to take.
    pub(super) fn discard_tasks(&self) {
        while self.tasks.try_receive(true).is_some() {}
    }

    /// Starts one more helper. Returns whether the system has a thread for it.
    pub(super) fn start(&mut self) -> bool {
        let (worker, tasks, reporter) = (self.worker, self.tasks.clone(), self.reporter.clone());
        let helper = thread::Builder::new()
            .name(format!("sluice-{}", self.count + 1))
            .stack_size(STACK)
            .spawn_scoped(self.scope, move || help(worker, &tasks, &reporter));
        self.count += usize::from(helper.is_ok());
        helper.is_ok()
    }

    /// Has one helper leave.
    pub(super) fn dismiss(&mut self) {
        self.count -= 1;
        let _ = self.plans.send(Task::Leave);
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
pub(super) fn run_task<S, W>(worker: &W, scratch: &mut W::Scratch, task: Task<S, W>) -> Report<S, W>
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
