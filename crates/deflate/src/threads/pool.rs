//! A fixed pool of threads, and results that arrive later.
//!
//! Jobs start in the order of submission.

use std::{
    io,
    thread::{self, JoinHandle},
};

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};

type Job = Box<dyn FnOnce() + Send>;

/// Worker threads and their queue. A drop waits until all submitted jobs are done.
pub struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

/// The result of a submitted job.
pub struct Promise<T>(Receiver<T>);

impl Pool {
    /// Starts `count` threads, or as many as the system allows, named `name` and a number.
    pub fn new(name: &str, count: usize) -> Self {
        let (jobs, queue) = unbounded::<Job>();
        let start = |number| {
            let queue = queue.clone();
            let builder = thread::Builder::new().name(format!("{name}-{number}"));
            let serve = move || queue.iter().for_each(|job| job());
            builder.spawn(serve).ok()
        };
        Self {
            threads: (1..=count).map_while(start).collect(),
            jobs: Some(jobs),
        }
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.threads.len()
    }

    /// Queues `work` for the next idle thread. A pool without threads does the work at once.
    pub fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Promise<T> {
        let (sender, receiver) = bounded(1);
        let job = move || {
            // Fails only if the promise was dropped.
            let _ = sender.send(work());
        };
        if self.threads.is_empty() {
            job();
        } else if let Some(jobs) = &self.jobs {
            // Fails only if no thread is left; the promise then reports the panic.
            let _ = jobs.send(Box::new(job));
        }
        Promise(receiver)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // The promise of a job that panicked has reported the panic.
            let _ = thread.join();
        }
    }
}

impl<T> Promise<T> {
    /// The result, if the job is done.
    pub fn poll(&self) -> io::Result<Option<T>> {
        match self.0.try_recv() {
            Ok(result) => Ok(Some(result)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(panicked()),
        }
    }

    /// Waits for the result.
    pub fn wait(&self) -> io::Result<T> {
        self.0.recv().map_err(|_| panicked())
    }
}

fn panicked() -> io::Error {
    io::Error::other("a thread that compresses has panicked")
}
