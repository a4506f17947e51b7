//! On which processors the threads run.
//!
//! Kernels that pack their work, as those of some virtual machines do, start, wake and balance threads onto
//! the processor of another: both share it for tens of milliseconds while the next one idles. So a
//! thread that finds another of ours where it runs goes to a processor of its own, and one that waits
//! is woken where it was. In between it runs wherever it might before. Where the kernel refuses, it is left
//! to the kernel.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors that we may run on, one for each thread.
pub(super) struct Processors {
    all: CpuSet,
    /// Where each thread was seen last, by its number.
    seen: Vec<AtomicUsize>,
}

/// Of a thread that has not begun.
const NOWHERE: usize = usize::MAX;

impl Processors {
    /// Nothing unless there is one for each of `threads`: of more processors, the kernel knows which have
    /// the least to do. The calling thread is the first.
    pub(super) fn for_each_of(threads: usize) -> Option<Self> {
        let all = sched_getaffinity(None).ok()?;
        if threads < 2 || all.count() as usize != threads {
            return None;
        }
        let seen = (0..threads).map(|_| AtomicUsize::new(NOWHERE)).collect();
        let processors = Self { all, seen };
        processors.spread(0);
        Some(processors)
    }

    /// Go on as the thread of this `number`, where no other runs.
    pub(super) fn spread(&self, number: usize) {
        let here = sched_getcpu();
        if !self.is_taken(number, here) {
            self.seen[number].store(here, Ordering::Relaxed);
        } else if self.settle(number) {
            self.leave();
        }
    }

    /// Wait as the thread of this `number`, to be woken where we are or, if another runs here, elsewhere.
    pub(super) fn stay<T>(&self, number: usize, wait: impl FnOnce() -> T) -> T {
        let is_settled = self.settle(number);
        let outcome = wait();
        if is_settled {
            self.leave();
        }
        outcome
    }

    /// From now on, run here only or, if another runs here, where none does.
    fn settle(&self, number: usize) -> bool {
        let here = sched_getcpu();
        let free = self.is_taken(number, here).then(|| self.free(number));
        let chosen = free.flatten().unwrap_or(here);
        self.seen[number].store(chosen, Ordering::Relaxed);
        let mut one = CpuSet::new();
        one.set(chosen);
        sched_setaffinity(None, &one).is_ok()
    }

    /// Whether another thread than that of this `number` was seen on `processor`.
    fn is_taken(&self, number: usize, processor: usize) -> bool {
        let mut seen = self.seen.iter().enumerate();
        seen.any(|(other, seen)| other != number && seen.load(Ordering::Relaxed) == processor)
    }

    fn free(&self, number: usize) -> Option<usize> {
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|&processor| self.all.is_set(processor));
        allowed.find(|&processor| !self.is_taken(number, processor))
    }

    /// From now on, run anywhere.
    fn leave(&self) {
        let _ = sched_setaffinity(None, &self.all);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Barrier, Mutex, atomic::Ordering},
        thread,
    };

    use rustix::thread::{sched_getaffinity, sched_getcpu};

    use super::Processors;

    /// One after the other: of those that begin at once, both may move.
    #[test]
    fn threads_run_on_processors_of_their_own_and_might_run_anywhere() {
        let allowed = sched_getaffinity(None).unwrap();
        let count = allowed.count() as usize;
        let Some(processors) = &Processors::for_each_of(count) else {
            assert_eq!(count, 1);
            return;
        };
        assert!(Processors::for_each_of(count - 1).is_none());
        let turn = &Mutex::new(());
        let settled = &Barrier::new(count);
        thread::scope(|scope| {
            for number in 0..count {
                scope.spawn(move || {
                    let mine = turn.lock();
                    processors.spread(number);
                    drop(mine);
                    settled.wait();
                    let own = processors.seen[number].load(Ordering::Relaxed);
                    assert!(allowed.is_set(own) && !processors.is_taken(number, own));
                    settled.wait();
                    assert!(sched_getaffinity(None).unwrap() == allowed);
                    let here = processors.stay(number, || {
                        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
                        sched_getcpu()
                    });
                    assert!(allowed.is_set(here));
                    assert!(sched_getaffinity(None).unwrap() == allowed);
                });
            }
        });
    }
}
