//! Which thread does what next: the window of admitted jobs, and the roles of planner and writer.
//! Must not hold its lock while a source, a worker or a sink is at work.

use std::{
    collections::VecDeque,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use super::{
    Limits, Made, Sink, Source, Times, Worker, default_threads,
    lots::{Lots, Taken, Ticket},
    placement::Processors,
};
use crate::error::{Error, Result};

/// Bytes that may wait to be written, for each thread, before no more work is begun. A window that
/// grows whenever the thread with its first job has to wait for a processor touches memory for the
/// first time again and again, and leaves the cache: that costs more than waiting as well.
const AHEAD: usize = 1 << 20;
/// Run everything that `source` makes through `worker` into `sink`. A run that fails tells its times
/// as well.
pub fn run<S, W, K>(source: S, worker: &W, sink: &mut K, limits: Limits) -> (Times, Result<()>)
where
    S: Source<Lot = W::Lot>,
    W: Worker,
    K: Sink<W::Output>,
{
    let mut pipeline = Pipeline {
        worker,
        threads: 1,
        processors: None,
        budget: limits.budget,
        lots: limits.lots,
        state: Mutex::new(State::default()),
        changed: Condvar::new(),
        sink: Mutex::new(sink),
    };
    // What comes out of the first look decides whether threads are worth their start.
    pipeline.look(source);
    if pipeline.is_worth_threads() {
        let threads = limits.threads.unwrap_or_else(default_threads);
        pipeline.threads = threads.min(limits.max_threads);
    }
    pipeline.processors = Processors::for_each_of(pipeline.threads);
    let pipeline = &pipeline;
    thread::scope(|scope| {
        for number in 1..pipeline.threads {
            let name = format!("sluice-{number}");
            let helper = thread::Builder::new().name(name);
            let helper = helper.spawn_scoped(scope, move || pipeline.serve(number));
            if helper.is_err() {
                break; // Fewer threads do the same work.
            }
            if pipeline.processors.is_some() {
                // It cannot go to another processor before it has had this one.
                thread::yield_now();
            }
        }
        pipeline.serve(0);
    });
    let mut state = pipeline.lock();
    if state.panicked {
        pipeline.abandon();
    }
    let outcome = state.outcome.take().unwrap_or_else(|| Err(panicked()));
    (state.times, outcome)
}

struct Pipeline<'a, S: Source<Lot = W::Lot>, W: Worker, K> {
    worker: &'a W,
    threads: usize,
    /// Where the threads run, if it matters.
    processors: Option<Processors>,
    budget: usize,
    lots: usize,
    state: Mutex<State<S, W>>,
    changed: Condvar,
    /// Locked by the thread that has the role of the writer.
    sink: Mutex<&'a mut K>,
}

struct State<S: Source<Lot = W::Lot>, W: Worker> {
    lots: Lots<S, W::Job>,
    splitting: usize,
    /// Jobs in order. A failure to plan is the last.
    window: VecDeque<Slot<W>>,
    /// How many of them are not begun.
    planned: usize,
    /// How many jobs left the window: the number of its first.
    written: u64,
    /// Bytes that those jobs account for that are begun.
    in_flight: usize,
    /// Bytes that wait to be written.
    done: usize,
    spare: Vec<W::Output>,
    spare_bytes: usize,
    writing: bool,
    /// What is being written has work left in it.
    finishing: bool,
    waiting: usize,
    times: Times,
    /// What ended the run was no failure.
    panicked: bool,
    outcome: Option<Result<()>>,
}

impl<S: Source<Lot = W::Lot>, W: Worker> Default for State<S, W> {
    fn default() -> Self {
        Self {
            lots: Lots::default(),
            splitting: 0,
            window: VecDeque::new(),
            planned: 0,
            written: 0,
            in_flight: 0,
            done: 0,
            spare: Vec::new(),
            spare_bytes: 0,
            writing: false,
            finishing: false,
            waiting: 0,
            times: Times::default(),
            panicked: false,
            outcome: None,
        }
    }
}

enum Slot<W: Worker> {
    /// Not yet admitted.
    Planned(Result<W::Job>),
    /// With its cost.
    Working(usize),
    Done(Done<W>),
}

struct Done<W: Worker> {
    output: W::Output,
    /// Bytes of memory that this output accounts for.
    held: usize,
    /// Bytes in it.
    len: usize,
    /// What is left to do, or what went wrong.
    rest: Result<Option<W::Job>>,
}

enum Task<S, W: Worker> {
    Write(Done<W>),
    Split(Ticket, W::Lot),
    Plan(Ticket, S),
    Work {
        number: u64,
        job: W::Job,
        cost: usize,
        output: W::Output,
    },
}

type Guard<'a, S, W> = MutexGuard<'a, State<S, W>>;

impl<S: Source<Lot = W::Lot>, W: Worker> State<S, W> {
    fn plan(&mut self, job: Result<W::Job>) {
        self.window.push_back(Slot::Planned(job));
        self.planned += 1;
    }

    /// Append the jobs of lots that are split, with all before them, to the window.
    fn line_up(&mut self) {
        while let Some(jobs) = self.lots.pop_split() {
            match jobs {
                Ok(jobs) => jobs.into_iter().for_each(|job| self.plan(Ok(job))),
                Err(error) => {
                    self.plan(Err(error));
                    self.lots.clear();
                }
            }
        }
    }

    fn task(&mut self, taken: Taken<S>) -> Task<S, W> {
        match taken {
            Taken::Source(ticket, source) => Task::Plan(ticket, source),
            Taken::Lot(ticket, lot) => {
                self.splitting += 1;
                Task::Split(ticket, lot)
            }
        }
    }

    /// Whether a thread has nothing to do because nothing is planned, and another source would help it.
    fn is_starved(&self, max: usize) -> bool {
        self.waiting > 0 && self.planned == 0 && self.lots.are_few(max)
    }
}

impl<S, W, K> Pipeline<'_, S, W, K>
where
    S: Source<Lot = W::Lot>,
    W: Worker,
    K: Sink<W::Output>,
{
    /// The part of the thread of this `number`; a panic in it ends the run for all.
    fn serve(&self, number: usize) {
        let served = catch_unwind(AssertUnwindSafe(|| {
            let mut scratch = self.worker.scratch();
            while self.step(number, &mut scratch) {}
        }));
        if served.is_err() {
            let mut state = self.lock();
            state.panicked |= state.outcome.is_none();
            self.end(state, Err(panicked()));
        }
    }

    /// Let it be seen that what was written is not all, unless that is what went wrong.
    fn abandon(&self) {
        if let Ok(mut sink) = self.sink.lock() {
            sink.abandon(&mut W::Output::default());
        }
    }

    /// Do one task; `false` when there is nothing left to do.
    fn step(&self, thread: usize, scratch: &mut W::Scratch) -> bool {
        if let Some(processors) = &self.processors {
            processors.spread(thread);
        }
        let mut state = self.lock();
        match self.choose(&mut state) {
            Some(task) => {
                match self.has_more(&state) {
                    true => self.announce(state),
                    false => drop(state),
                }
                self.carry_out(task, scratch);
            }
            None if state.outcome.is_some() => return false,
            None => {
                state.waiting += 1;
                let wait = || self.changed.wait(state);
                let woken = match &self.processors {
                    Some(processors) => processors.stay(thread, wait),
                    None => wait(),
                };
                let mut state = woken.unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            }
        }
        true
    }

    fn carry_out(&self, task: Task<S, W>, scratch: &mut W::Scratch) {
        match task {
            Task::Split(ticket, lot) => self.split(ticket, lot),
            Task::Plan(ticket, source) => self.plan(ticket, source),
            Task::Work {
                number,
                job,
                cost,
                output,
            } => self.work(scratch, number, job, cost, output),
            Task::Write(done) => self.write(scratch, done),
        }
    }

    /// Whether there may be something to do for another thread as well.
    fn has_more(&self, state: &State<S, W>) -> bool {
        let plans = state.planned == 0 && !state.lots.is_empty();
        state.waiting > 0 && (plans || self.next(state).is_some())
    }

    /// What helps most: what was finished makes room when written; what is planned keeps the
    /// others busy; then the work itself.
    fn choose(&self, state: &mut State<S, W>) -> Option<Task<S, W>> {
        if state.outcome.is_some() {
            return None;
        }
        if !state.writing && matches!(state.window.front(), Some(Slot::Done(_))) {
            let Some(Slot::Done(done)) = state.window.pop_front() else {
                unreachable!("the first slot was just seen to be done")
            };
            state.written += 1;
            state.done -= done.len;
            state.writing = true;
            state.finishing = matches!(done.rest, Ok(Some(_)));
            return Some(Task::Write(done));
        }
        if state.planned < 4 * self.threads + 16
            && let Some(task) = self.plan_more(state)
        {
            return Some(task);
        }
        if let Some(task) = self.admit(state) {
            return Some(task);
        }
        if state.window.is_empty() && state.lots.is_empty() && !state.writing {
            state.outcome = Some(Ok(()));
            self.changed.notify_all();
            return None;
        }
        match state.planned {
            0 => self.plan_ahead(state),
            _ => None,
        }
    }

    /// Make jobs of what is there, or have more made: lots wait for nobody but those who split others.
    fn plan_more(&self, state: &mut State<S, W>) -> Option<Task<S, W>> {
        let may_split = state.splitting <= self.threads.div_ceil(4);
        let taken = state.lots.take_next(may_split)?;
        Some(state.task(taken))
    }

    /// The same for later jobs, where those that come next are in the hands of others.
    fn plan_ahead(&self, state: &mut State<S, W>) -> Option<Task<S, W>> {
        let taken = state.lots.take_later(self.lots)?;
        Some(state.task(taken))
    }

    /// Begin a planned job, if the budget allows.
    fn admit(&self, state: &mut State<S, W>) -> Option<Task<S, W>> {
        let at = self.next(state)?;
        let Slot::Planned(job) = std::mem::replace(&mut state.window[at], Slot::Working(0)) else {
            unreachable!("the slot was just seen to be planned")
        };
        state.planned -= 1;
        match job {
            Ok(job) => {
                let cost = self.worker.cost(&job);
                let output = self.reuse(state, cost);
                state.in_flight += cost;
                state.window[at] = Slot::Working(cost);
                Some(Task::Work {
                    number: state.written + at as u64,
                    job,
                    cost,
                    output,
                })
            }
            Err(error) => {
                state.window[at] = Slot::Done(Done {
                    output: W::Output::default(),
                    held: 0,
                    len: 0,
                    rest: Err(error),
                });
                self.choose(state)
            }
        }
    }

    /// Which job is to be begun: the first, if the budget allows.
    fn next(&self, state: &State<S, W>) -> Option<usize> {
        let is_planned = |slot: &Slot<W>| matches!(slot, Slot::Planned(_));
        let first = state.window.iter().position(is_planned)?;
        if first == 0 && !state.writing {
            return Some(first); // All that is done waits for it.
        }
        if self.is_ahead(state) {
            return None;
        }
        let room = self.budget.saturating_sub(state.in_flight);
        if state.lots.is_empty() && self.costs(state, first..state.window.len()) <= room {
            // The last one may take long. When it is begun early, nobody waits for it with nothing to do.
            let last = state.window.len() - 1;
            return Some(if is_planned(&state.window[last]) {
                last
            } else {
                first
            });
        }
        (self.costs(state, first..first + 1) <= room).then_some(first)
    }

    /// What the planned ones of these jobs cost.
    fn costs(&self, state: &State<S, W>, jobs: Range<usize>) -> usize {
        let cost = |slot: &Slot<W>| match slot {
            Slot::Planned(Ok(job)) => self.worker.cost(job),
            _ => 0,
        };
        state.window.range(jobs).map(cost).sum()
    }

    /// Whether too much is done already that waits for the first job. While that is a large one, the
    /// others do as much each; what is too large even for a job is no reason to wait. The last may be done
    /// long before its turn.
    fn is_ahead(&self, state: &State<S, W>) -> bool {
        let first = match state.window.front() {
            Some(Slot::Working(cost)) => *cost,
            _ => 0,
        };
        let last = match state.window.back() {
            Some(Slot::Done(done)) => done.len,
            _ => 0,
        };
        !state.finishing && state.done - last > self.threads * AHEAD.max(first)
    }

    /// Memory for a job of this cost: the last that is large enough, else the last at all.
    fn reuse(&self, state: &mut State<S, W>, cost: usize) -> W::Output {
        let fits = state
            .spare
            .iter()
            .rposition(|output| self.worker.held(output) >= cost);
        let Some(at) = fits.or(state.spare.len().checked_sub(1)) else {
            return W::Output::default();
        };
        let output = state.spare.swap_remove(at);
        state.spare_bytes -= self.worker.held(&output);
        output
    }

    fn is_worth_threads(&self) -> bool {
        let state = self.lock();
        !state.lots.is_empty() || state.planned > 1
    }

    /// Plan what comes first.
    fn look(&self, source: S) {
        let ticket = self.lock().lots.begin();
        self.plan(ticket, source);
        let task = self.plan_more(&mut self.lock());
        if let Some(Task::Split(ticket, lot)) = task {
            self.split(ticket, lot);
        }
    }

    /// Have the next lot made; what comes behind it is left to two sources where a thread has nothing to do.
    fn plan(&self, ticket: Ticket, mut source: S) {
        let started = Instant::now();
        let made = source.next();
        let goes_on = matches!(made, Ok(Made { last: false, .. }));
        let rest = match goes_on && self.lock().is_starved(self.lots) {
            true => source.fork(),
            false => None,
        };
        let took = started.elapsed();
        // One that is through is given up when others know that: it may take a while.
        let mut source = Some(source);
        let going_on = goes_on.then(|| source.take()).flatten();
        let mut state = self.lock();
        state.times.plan += took;
        let sources = going_on.into_iter().chain(rest);
        state.lots.made(ticket, made.map(|made| made.lot), sources);
        state.line_up();
        self.announce(state);
    }

    fn split(&self, ticket: Ticket, lot: W::Lot) {
        let started = Instant::now();
        let jobs = self.worker.split(lot);
        let took = started.elapsed();
        let mut state = self.lock();
        state.times.plan += took;
        state.splitting -= 1;
        state.lots.split(ticket, jobs);
        state.line_up();
        // A failure empties the queue while other threads still split what they took from it.
        let all = state.lots.is_empty() && state.splitting == 0;
        self.announce(state);
        if all {
            self.worker.all_split();
        }
    }

    fn work(
        &self,
        scratch: &mut W::Scratch,
        number: u64,
        job: W::Job,
        cost: usize,
        mut output: W::Output,
    ) {
        let started = Instant::now();
        let rest = self.worker.work(scratch, job, &mut output);
        let took = started.elapsed();
        let held = self.worker.held(&output);
        let len = self.worker.len(&output);
        let mut state = self.lock();
        state.times.work += took;
        state.in_flight = state.in_flight - cost + held;
        state.done += len;
        let at = (number - state.written) as usize;
        state.window[at] = Slot::Done(Done {
            output,
            held,
            len,
            rest,
        });
    }

    fn write(&self, scratch: &mut W::Scratch, done: Done<W>) {
        let Done {
            mut output,
            held,
            rest,
            ..
        } = done;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let outcome = match rest {
            Ok(None) => sink.write(&mut output),
            Ok(Some(rest)) => sink
                .write(&mut output)
                .and_then(|()| self.worker.finish(scratch, rest, &mut **sink)),
            Err(error) => {
                sink.abandon(&mut output);
                Err(error)
            }
        };
        let took = started.elapsed();
        drop(sink);
        let mut state = self.lock();
        state.times.write += took;
        state.writing = false;
        state.finishing = false;
        state.in_flight -= held;
        self.recycle(&mut state, output);
        match outcome {
            Ok(()) => self.announce(state),
            Err(_) => self.end(state, outcome),
        }
    }

    /// Let all know how it ended, unless they know.
    fn end(&self, mut state: Guard<'_, S, W>, outcome: Result<()>) {
        state.outcome.get_or_insert(outcome);
        drop(state);
        self.changed.notify_all();
    }

    /// Keep the memory of `output` for a later job, as far as the budget has room for it.
    fn recycle(&self, state: &mut State<S, W>, output: W::Output) {
        let held = self.worker.held(&output);
        let room = self
            .budget
            .saturating_sub(state.in_flight + state.spare_bytes);
        if held <= room {
            state.spare_bytes += held;
            state.spare.push(output);
        }
    }

    /// Wake one thread that waits: it wakes the next if it finds something to do, and then something else.
    fn announce(&self, state: Guard<'_, S, W>) {
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.changed.notify_one();
        }
    }

    /// A panic while the lock was held has set the outcome, or is about to: the state is read no
    /// further than that.
    fn lock(&self) -> Guard<'_, S, W> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn panicked() -> Error {
    Error::fatal("internal error: a thread panicked")
}
