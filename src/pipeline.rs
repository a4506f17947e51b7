//! Ordered work on several threads, in bounded memory. Knows neither git nor tar.
//!
//! Work is numbered before a thread gets it. Jobs are *admitted* in that order against a budget of
//! bytes, done in any order, and written in order again; their bytes come back to the budget when
//! they are written. So the next job to be written is always among those admitted, and the window
//! cannot lock itself. A job larger than the budget is admitted alone.
//!
//! There is no thread for planning or for writing: planner and writer are roles that whichever
//! thread is free takes up, one at a time each, so `n` threads keep `n` cores busy, and one thread
//! is a plain loop of plan, work, write. Nothing is sent through channels; the one lock is taken a
//! few times a job, and a job is a few hundred kilobytes.
//!
//! The first failure in job order decides: everything before it is written, nothing after it. A
//! panic anywhere stops all threads.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::error::{Error, Result};

/// Makes jobs, in order.
pub trait Source: Send {
    /// A piece of work.
    type Job: Send;

    /// The next jobs, and whether more may follow.
    fn next(&mut self) -> Result<Batch<Self::Job>>;
}

/// What a [`Source`] makes at once.
pub struct Batch<J> {
    /// In order.
    pub jobs: Vec<J>,
    /// Whether these were the last.
    pub last: bool,
}

/// Does jobs; shared by all threads.
pub trait Worker: Sync {
    /// A piece of work.
    type Job: Send;
    /// What becomes of it; empty ones are made by `default`, used ones come back to be reused.
    type Output: Default + Send;
    /// What a thread keeps from job to job.
    type Scratch;

    /// For a new thread.
    fn scratch(&self) -> Self::Scratch;

    /// The bytes to set aside for `job`: an estimate of its output and what making it takes.
    fn cost(&self, job: &Self::Job) -> usize;

    /// The bytes of memory that `output` holds.
    fn held(&self, output: &Self::Output) -> usize;

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
    /// Bytes admitted and not yet written.
    pub budget: usize,
}

/// Run everything that `source` makes through `worker` into `sink`.
pub fn run<S, W, K>(source: S, worker: &W, sink: &mut K, limits: Limits) -> Result<()>
where
    S: Source<Job = W::Job>,
    W: Worker,
    K: Sink<W::Output>,
{
    let mut pipeline = Pipeline {
        worker,
        threads: 1,
        budget: limits.budget,
        state: Mutex::new(State::default()),
        changed: Condvar::new(),
        source: Mutex::new(source),
        sink: Mutex::new(sink),
    };
    // What comes out of the first look decides whether threads are worth their start.
    pipeline.plan_first();
    if pipeline.is_worth_threads() {
        pipeline.threads = limits.threads.unwrap_or_else(default_threads);
    }
    let pipeline = &pipeline;
    thread::scope(|scope| {
        for number in 1..pipeline.threads {
            let name = format!("sluice-{number}");
            let helper = thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, || pipeline.serve());
            if helper.is_err() {
                break; // Fewer threads do the same work.
            }
        }
        pipeline.serve();
    });
    let outcome = pipeline.lock().outcome.take();
    outcome.unwrap_or_else(|| Err(panicked()))
}

struct Pipeline<'a, S, W: Worker, K> {
    worker: &'a W,
    threads: usize,
    budget: usize,
    state: Mutex<State<W::Job, W::Output>>,
    changed: Condvar,
    /// Locked by the thread that has the role of the planner.
    source: Mutex<S>,
    /// Locked by the thread that has the role of the writer.
    sink: Mutex<&'a mut K>,
}

struct State<J, O> {
    /// In order, not yet admitted. A failure to plan is the last.
    planned: VecDeque<Result<J>>,
    /// Admitted, in order.
    window: VecDeque<Slot<J, O>>,
    /// How many jobs left the window: the number of its first.
    written: u64,
    /// Bytes that the window accounts for.
    in_flight: usize,
    spare: Vec<O>,
    spare_bytes: usize,
    planning: bool,
    writing: bool,
    waiting: usize,
    exhausted: bool,
    outcome: Option<Result<()>>,
}

impl<J, O> Default for State<J, O> {
    fn default() -> Self {
        Self {
            planned: VecDeque::new(),
            window: VecDeque::new(),
            written: 0,
            in_flight: 0,
            spare: Vec::new(),
            spare_bytes: 0,
            planning: false,
            writing: false,
            waiting: 0,
            exhausted: false,
            outcome: None,
        }
    }
}

enum Slot<J, O> {
    Working,
    Done(Done<J, O>),
}

struct Done<J, O> {
    output: O,
    /// Bytes that this output accounts for.
    held: usize,
    /// What is left to do, or what went wrong.
    rest: Result<Option<J>>,
}

enum Task<J, O> {
    Write(Done<J, O>),
    Plan,
    Work {
        number: u64,
        job: J,
        cost: usize,
        output: O,
    },
    Wait,
    Stop,
}

type Guard<'a, W> = MutexGuard<'a, State<<W as Worker>::Job, <W as Worker>::Output>>;

impl<S, W, K> Pipeline<'_, S, W, K>
where
    S: Source<Job = W::Job>,
    W: Worker,
    K: Sink<W::Output>,
{
    /// One thread's part; a panic in it ends the run for all.
    fn serve(&self) {
        let served = catch_unwind(AssertUnwindSafe(|| {
            let mut scratch = self.worker.scratch();
            while self.step(&mut scratch) {}
        }));
        if served.is_err() {
            self.lock().outcome.get_or_insert_with(|| Err(panicked()));
            self.changed.notify_all();
        }
    }

    /// Do one task; `false` when there is nothing left to do.
    fn step(&self, scratch: &mut W::Scratch) -> bool {
        let mut state = self.lock();
        match self.choose(&mut state) {
            Task::Stop => return false,
            Task::Wait => {
                state.waiting += 1;
                let mut state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            }
            Task::Plan => {
                drop(state);
                self.plan();
            }
            Task::Work {
                number,
                job,
                cost,
                output,
            } => {
                drop(state);
                self.work(scratch, number, job, cost, output);
            }
            Task::Write(done) => {
                drop(state);
                self.write(scratch, done);
            }
        }
        true
    }

    /// What helps most: what was finished makes room when written; what is planned keeps the
    /// others busy; then the work itself.
    fn choose(&self, state: &mut State<W::Job, W::Output>) -> Task<W::Job, W::Output> {
        if state.outcome.is_some() {
            return Task::Stop;
        }
        if !state.writing && matches!(state.window.front(), Some(Slot::Done(_))) {
            let Some(Slot::Done(done)) = state.window.pop_front() else {
                unreachable!("the first slot was just seen to be done")
            };
            state.written += 1;
            state.writing = true;
            return Task::Write(done);
        }
        let ahead = 4 * self.threads + 16;
        if !state.planning && !state.exhausted && state.planned.len() < ahead {
            state.planning = true;
            return Task::Plan;
        }
        if let Some(task) = self.admit(state) {
            return task;
        }
        let idle = state.window.is_empty() && state.planned.is_empty();
        if idle && state.exhausted && !state.writing {
            state.outcome = Some(Ok(()));
            self.changed.notify_all();
            return Task::Stop;
        }
        Task::Wait
    }

    /// Take the next planned job into the window, if the budget allows.
    fn admit(&self, state: &mut State<W::Job, W::Output>) -> Option<Task<W::Job, W::Output>> {
        let cost = match state.planned.front()? {
            Ok(job) => self.worker.cost(job),
            Err(_) => 0,
        };
        let alone = state.window.is_empty() && !state.writing;
        if !alone && state.in_flight + cost > self.budget {
            return None;
        }
        let output = self.reuse(state, cost);
        let number = state.written + state.window.len() as u64;
        match state.planned.pop_front()? {
            Ok(job) => {
                state.in_flight += cost;
                state.window.push_back(Slot::Working);
                Some(Task::Work {
                    number,
                    job,
                    cost,
                    output,
                })
            }
            Err(error) => {
                let failed = Done {
                    output,
                    held: 0,
                    rest: Err(error),
                };
                state.window.push_back(Slot::Done(failed));
                Some(self.choose(state))
            }
        }
    }

    /// Memory for a job of this cost: the last that is large enough, else the last at all.
    fn reuse(&self, state: &mut State<W::Job, W::Output>, cost: usize) -> W::Output {
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
        !state.exhausted || state.planned.len() > 1
    }

    fn plan_first(&self) {
        self.lock().planning = true;
        self.plan();
    }

    fn plan(&self) {
        let batch = self
            .source
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next();
        let mut state = self.lock();
        state.planning = false;
        match batch {
            Ok(batch) => {
                state.planned.extend(batch.jobs.into_iter().map(Ok));
                state.exhausted = batch.last;
            }
            Err(error) => {
                state.planned.push_back(Err(error));
                state.exhausted = true;
            }
        }
        self.announce(state);
    }

    fn work(
        &self,
        scratch: &mut W::Scratch,
        number: u64,
        job: W::Job,
        cost: usize,
        mut output: W::Output,
    ) {
        let rest = self.worker.work(scratch, job, &mut output);
        let held = self.worker.held(&output);
        let mut state = self.lock();
        state.in_flight = state.in_flight - cost + held;
        let at = (number - state.written) as usize;
        state.window[at] = Slot::Done(Done { output, held, rest });
        if at == 0 {
            self.announce(state);
        }
    }

    fn write(&self, scratch: &mut W::Scratch, done: Done<W::Job, W::Output>) {
        let Done {
            mut output,
            held,
            rest,
        } = done;
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
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
        drop(sink);
        let mut state = self.lock();
        state.writing = false;
        state.in_flight -= held;
        if outcome.is_err() {
            state.outcome = Some(outcome);
        }
        self.recycle(&mut state, output);
        self.announce(state);
    }

    /// Keep the memory of `output` for a later job, as far as the budget has room for it.
    fn recycle(&self, state: &mut State<W::Job, W::Output>, output: W::Output) {
        let held = self.worker.held(&output);
        let room = self
            .budget
            .saturating_sub(state.in_flight + state.spare_bytes);
        if held <= room {
            state.spare_bytes += held;
            state.spare.push(output);
        }
    }

    fn announce(&self, state: Guard<'_, W>) {
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.changed.notify_all();
        }
    }

    /// A panic while the lock was held has set the outcome, or is about to: the state is read no
    /// further than that.
    fn lock(&self) -> Guard<'_, W> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As many threads as there are cores to run on. Asking the system takes longer than a small archive.
pub fn default_threads() -> usize {
    thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_DEFAULT_THREADS)
}

fn panicked() -> Error {
    Error::fatal("internal error: a thread panicked")
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use super::{Batch, Limits, Sink, Source, Worker, run};
    use crate::error::{Error, Result};

    /// Counts to a number, in batches, and may fail or panic on the way.
    struct Numbers {
        next: u32,
        end: u32,
        fails: bool,
    }

    impl Source for Numbers {
        type Job = u32;

        fn next(&mut self) -> Result<Batch<u32>> {
            if self.next == self.end && self.fails {
                return Err(Error::fatal("cannot count on"));
            }
            let to = (self.next + 7).min(self.end);
            let jobs = (self.next..to).collect();
            self.next = to;
            Ok(Batch {
                jobs,
                last: to == self.end && !self.fails,
            })
        }
    }

    /// Takes longer for some jobs, leaves every tenth to the writer.
    #[derive(Default)]
    struct Slow {
        fails_at: Option<u32>,
        panics_at: Option<u32>,
        flying: AtomicUsize,
        most: AtomicUsize,
    }

    impl Worker for Slow {
        type Job = u32;
        type Output = Vec<u32>;
        type Scratch = ();

        fn scratch(&self) {}

        fn cost(&self, _: &u32) -> usize {
            10
        }

        fn held(&self, output: &Vec<u32>) -> usize {
            output.len() * 10
        }

        fn work(&self, (): &mut (), job: u32, output: &mut Vec<u32>) -> Result<Option<u32>> {
            let flying = self.flying.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(flying, Ordering::SeqCst);
            std::thread::sleep(Duration::from_micros(u64::from(job * 37 % 11) * 50));
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
        let mut sink = Collect {
            taken: Vec::new(),
            torn: false,
            full_at,
            worker,
        };
        let outcome = run(
            source,
            worker,
            &mut sink,
            Limits {
                threads: Some(threads),
                budget: 80,
            },
        );
        (sink.taken, sink.torn, outcome)
    }

    fn to(end: u32) -> Numbers {
        Numbers {
            next: 0,
            end,
            fails: false,
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
                next: 0,
                end: 50,
                fails: true,
            };
            let (taken, torn, outcome) = count(source, &Slow::default(), threads, None);
            assert_eq!(taken.len(), 50);
            assert!(torn && outcome.is_err());
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
            let (taken, _, outcome) = count(to(500), &worker, threads, None);
            assert!(taken.len() <= 41);
            assert!(outcome.unwrap_err().to_string().contains("panicked"));
        }
    }
}
