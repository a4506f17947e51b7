//! Threads of a scope that take jobs from one bounded queue, in any order.
//!
//! Where the queue is full, the calling thread gets its job back and does it itself. So all processors work, memory is
//! bounded, and a system that starts no thread leaves all work to the calling one.

use std::thread::{Builder, Scope};

use crossbeam_channel::{Receiver, Sender, bounded};

/// The number of jobs that wait for each thread.
const WAITING: usize = 2;

/// The queue of the threads, and their results.
pub struct Workers<J, R> {
    jobs: Sender<J>,
    results: Receiver<R>,
}

impl<J: Send, R: Send> Workers<J, R> {
    /// Starts `count` threads, or as many as the system allows. Each takes its jobs from the queue that it is called with, and
    /// returns its result at the end of the queue.
    pub fn start<'scope, W>(
        scope: &'scope Scope<'scope, '_>,
        count: usize,
        worker: impl Fn() -> W,
    ) -> Self
    where
        J: 'scope,
        R: 'scope,
        W: FnOnce(Receiver<J>) -> R + Send + 'scope,
    {
        let (jobs, queue) = bounded(WAITING * count);
        let (sender, results) = bounded(count);
        let start = |_| {
            let (work, queue, sender) = (worker(), queue.clone(), sender.clone());
            let run = move || {
                // Fails only if the calling thread wants no results.
                let _ = sender.send(work(queue));
            };
            Builder::new().spawn_scoped(scope, run).is_ok()
        };
        (0..count).all(start);
        Self { jobs, results }
    }

    /// Queues `job`, or returns it if enough jobs wait already.
    pub fn offer(&self, job: J) -> Result<(), J> {
        let queued = self.jobs.try_send(job);
        queued.map_err(crossbeam_channel::TrySendError::into_inner)
    }

    /// Whether a thread has ended before the end of the queue.
    pub fn has_ended_early(&self) -> bool {
        !self.results.is_empty()
    }

    /// Ends the queue. The results come as the threads end.
    pub fn finish(self) -> Receiver<R> {
        self.results
    }
}
