//! Ordered work on several threads, in bounded memory. Must not know git or tar.
//!
//! A [`Source`] plans *batches*, in archive order. A [`Worker`] splits each batch into jobs and does the
//! jobs. A [`Sink`] takes their outputs, in order again. The calling thread is the coordinator: it owns the
//! queue of batches and the window of jobs, sends tasks to the helpers over a channel, takes their reports
//! from another, and writes. No state is shared, so there is no lock.
//!
//! Jobs are admitted in order against a budget of bytes. The next job to be written is always among those
//! admitted, so the window cannot lock itself. A job larger than the budget is admitted alone. Where
//! threads would wait for the source, the source is forked, so that another thread plans the later part.
//!
//! The first failure in job order decides: everything before it is written, nothing after it. A panic
//! anywhere ends the run in the same way.

mod coordinator;
mod helpers;
mod processors;
mod queue;
#[cfg(test)]
mod tests;
mod window;

use std::time::Duration;

use crate::error::Result;

pub use coordinator::run;
pub use processors::{default_threads, processor_count};

/// Plans batches, in order.
pub trait Source: Send + Sized {
    /// A part of the plan that becomes some jobs.
    type Batch: Send;

    /// Plans the next batch.
    fn next(&mut self) -> Result<Made<Self::Batch>>;

    /// Splits off the later part of the plan, for another thread; `None` if the plan cannot be divided.
    fn fork(&mut self) -> Option<Self> {
        None
    }
}

/// One batch of a [`Source`].
pub struct Made<B> {
    /// The batch, which may be empty.
    pub batch: B,
    /// Whether the source is at its end.
    pub last: bool,
}

/// Does jobs; shared by all threads.
pub trait Worker: Sync {
    /// A part of the plan that becomes some jobs.
    type Batch: Send;
    /// A piece of work.
    type Job: Send;
    /// The result of a job. Empty ones are made by `default`, and used ones are reused.
    type Output: Default + Send;
    /// The state that a thread keeps from job to job.
    type Scratch;

    /// For a new thread.
    fn scratch(&self) -> Self::Scratch;

    /// The jobs of `batch`, in order.
    fn split(&self, batch: Self::Batch) -> Result<Vec<Self::Job>>;

    /// Drop the state that only `split` needs: the last batch is split.
    fn all_split(&self) {}

    /// The bytes to set aside for `job`: an estimate of its output and of the memory for producing it.
    fn cost(&self, job: &Self::Job) -> usize;

    /// The bytes of memory that `output` holds.
    fn held(&self, output: &Self::Output) -> usize;

    /// The bytes in `output`: memory that is used again may hold more.
    fn len(&self, output: &Self::Output) -> usize;

    /// Do `job`. A part that is too large for memory is returned as the rest, for the writer.
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
pub trait Sink<O> {
    /// Write `output` and leave it empty.
    fn write(&mut self, output: &mut O) -> Result<()>;

    /// Whether later outputs are of no interest. Then the run ends after the last write, as at the end of the plan.
    fn is_done(&self) -> bool {
        false
    }

    /// Write the output before a failure, if anything was written at all, so that the result is visibly
    /// incomplete.
    fn abandon(&mut self, output: &mut O);
}

/// How much may go on at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads, the calling one included; by default as many as there are processors to spare.
    pub threads: Option<usize>,
    /// The upper limit of threads, even if more are requested.
    pub max_threads: usize,
    /// Bytes admitted and not yet written.
    pub budget: usize,
    /// Queued batches above which none is planned before its turn.
    pub queued: usize,
}

/// The time of each stage, summed over all threads. A wait for another thread counts nowhere; a wait of the
/// sink counts as writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Producing jobs, up to the start of each.
    pub plan: Duration,
    /// Doing jobs.
    pub work: Duration,
    /// Writing in order, including the rests of jobs.
    pub write: Duration,
}
