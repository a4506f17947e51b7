//! A few threads that do what they are told.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread::{self, JoinHandle},
};

type Job = Box<dyn FnOnce() + Send>;

/// Threads, and the way to them. When it is dropped they do what they were given, and end.
pub(super) struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

/// A result to come.
pub(super) struct Promise<T>(Receiver<T>);

impl Pool {
    /// Start `count` threads, or as many as can be had.
    pub(super) fn new(count: usize) -> Self {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let start = |number| {
            let queue = Arc::clone(&queue);
            let builder = thread::Builder::new().name(format!("deflate-{number}"));
            builder.spawn(move || serve(&queue)).ok()
        };
        Self {
            threads: (1..=count).map_while(start).collect(),
            jobs: Some(jobs),
        }
    }

    /// How many threads there are.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Have `work` done.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Promise<T> {
        let (sender, receiver) = channel();
        let job = move || {
            // Nobody may be waiting for it any more.
            let _ = sender.send(work());
        };
        if let Some(jobs) = &self.jobs {
            // Without a thread left, the promise tells.
            let _ = jobs.send(Box::new(job));
        }
        Promise(receiver)
    }
}

fn serve(queue: &Mutex<Receiver<Job>>) {
    loop {
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(job) = queue.recv() else { return };
        drop(queue);
        job();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic has been noticed where its result was missed.
            let _ = thread.join();
        }
    }
}

impl<T> Promise<T> {
    /// The result, if it is there.
    pub(super) fn poll(&self) -> io::Result<Option<T>> {
        match self.0.try_recv() {
            Ok(result) => Ok(Some(result)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(broken()),
        }
    }

    /// Wait for the result.
    pub(super) fn wait(&self) -> io::Result<T> {
        self.0.recv().map_err(|_| broken())
    }
}

fn broken() -> io::Error {
    io::Error::other("a thread that compresses has panicked")
}
