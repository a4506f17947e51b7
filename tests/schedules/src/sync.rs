//! Threads and channels for the pipeline and the cache, in place of those in `crates/base/src/sync.rs`.

pub(crate) use shuttle::sync::Condvar;

/// The threads of shuttle.
pub(crate) mod thread {
    use std::{
        io,
        panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
        time::Duration,
    };

    pub(crate) use shuttle::thread::{Scope, ScopedJoinHandle, yield_now};

    /// Waits for the threads even if `run` unwinds, as the system's threads do.
    pub(crate) fn scope<'env, T>(
        run: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        shuttle::thread::scope(|scope| catch_unwind(AssertUnwindSafe(|| run(scope))))
            .unwrap_or_else(|cause| resume_unwind(cause))
    }

    /// There is no time here: whatever this thread waits for goes first.
    pub(crate) fn sleep(_: Duration) {
        yield_now();
    }

    /// Names and stacks do not matter here.
    pub(crate) struct Builder;

    impl Builder {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn name(self, _: String) -> Self {
            self
        }

        pub(crate) fn stack_size(self, _: usize) -> Self {
            self
        }

        pub(crate) fn spawn_scoped<'scope, 'env, T: Send + 'scope>(
            self,
            scope: &'scope Scope<'scope, 'env>,
            run: impl FnOnce() -> T + Send + 'scope,
        ) -> io::Result<ScopedJoinHandle<'scope, T>> {
            Ok(scope.spawn(run))
        }
    }
}

/// Channels without bounds, as those of crossbeam. Each operation may be interrupted before and after it.
pub(crate) mod channel {
    use std::{
        collections::VecDeque,
        sync::{Arc, PoisonError},
    };

    use shuttle::{
        sync::{Mutex, MutexGuard},
        thread::{self, Thread},
    };

    /// The other end is gone.
    pub(crate) struct Gone;

    /// What a channel holds, and who waits for it.
    struct State<T> {
        items: VecDeque<T>,
        senders: usize,
        receivers: usize,
        waiting: Vec<Thread>,
    }

    struct Channel<T>(Mutex<State<T>>);

    impl<T> Channel<T> {
        fn lock(&self) -> MutexGuard<'_, State<T>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl<T> State<T> {
        fn wake_all(&mut self) {
            self.waiting.drain(..).for_each(|thread| thread.unpark());
        }
    }

    pub(crate) struct Sender<T>(Arc<Channel<T>>);
    pub(crate) struct Receiver<T>(Arc<Channel<T>>);

    /// Nobody here sends more than one item, so no room is missing.
    pub(crate) fn bounded<T>(_: usize) -> (Sender<T>, Receiver<T>) {
        unbounded()
    }

    pub(crate) fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        let channel = Arc::new(Channel(Mutex::new(State {
            items: VecDeque::new(),
            senders: 1,
            receivers: 1,
            waiting: Vec::new(),
        })));
        (Sender(Arc::clone(&channel)), Receiver(channel))
    }

    impl<T> Sender<T> {
        pub(crate) fn send(&self, item: T) -> Result<(), Gone> {
            let mut state = self.0.lock();
            if state.receivers == 0 {
                return Err(Gone);
            }
            state.items.push_back(item);
            state.wake_all();
            Ok(())
        }
    }

    impl<T> Receiver<T> {
        pub(crate) fn try_recv(&self) -> Result<T, Gone> {
            self.0.lock().items.pop_front().ok_or(Gone)
        }

        pub(crate) fn recv(&self) -> Result<T, Gone> {
            loop {
                if let Some(received) = self.poll() {
                    return received;
                }
                thread::park();
            }
        }

        /// What `recv` returns. Without anything yet, the thread is woken when that changes.
        pub(crate) fn poll(&self) -> Option<Result<T, Gone>> {
            let mut state = self.0.lock();
            if let Some(item) = state.items.pop_front() {
                return Some(Ok(item));
            }
            if state.senders == 0 {
                return Some(Err(Gone));
            }
            state.waiting.push(thread::current());
            None
        }
    }

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            self.0.lock().senders += 1;
            Self(Arc::clone(&self.0))
        }
    }

    impl<T> Clone for Receiver<T> {
        fn clone(&self) -> Self {
            self.0.lock().receivers += 1;
            Self(Arc::clone(&self.0))
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            let mut state = self.0.lock();
            state.senders -= 1;
            state.wake_all();
        }
    }

    impl<T> Drop for Receiver<T> {
        fn drop(&mut self) {
            self.0.lock().receivers -= 1;
        }
    }

    /// Receives from the first of two channels that has something, or whose senders are gone.
    macro_rules! select_biased {
        (recv($first:expr) -> $one:ident => $a:expr, recv($second:expr) -> $other:ident => $b:expr,) => {
            loop {
                if let Some($one) = $first.poll() {
                    break $a;
                }
                if let Some($other) = $second.poll() {
                    break $b;
                }
                shuttle::thread::park();
            }
        };
    }
    pub(crate) use select_biased;
}
