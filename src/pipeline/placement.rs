//! On which processors the threads run.
//!
//! Kernels that pack their work, as those of some virtual machines do, start and wake threads on the processor of
//! whoever starts or wakes them: both share it for tens of milliseconds while the next one idles. So a
//! new thread that is found there goes to a processor of its own, and one that waits is woken where it was.
//! In between it runs wherever it might before. Where the kernel refuses, it is left to the kernel.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors that we may run on, one for each thread.
pub(super) struct Processors {
    all: CpuSet,
    /// The one where this was made.
    own: usize,
    others: Vec<usize>,
}

impl Processors {
    /// Nothing unless there is one for each of `threads`, of which one is running: of more processors, the
    /// kernel knows which have the least to do.
    pub(super) fn for_each_of(threads: usize) -> Option<Self> {
        let all = sched_getaffinity(None).ok()?;
        if threads < 2 || all.count() as usize != threads {
            return None;
        }
        let own = sched_getcpu();
        let others = (0..CpuSet::MAX_CPU).filter(|&cpu| cpu != own && all.is_set(cpu));
        let others = others.collect();
        Some(Self { all, own, others })
    }

    /// Go to the processor for the new thread of this `number`, from 1, unless it has one already.
    pub(super) fn take(&self, number: usize) {
        if sched_getcpu() == self.own
            && let Some(&cpu) = self.others.get(number - 1)
            && settle(cpu)
        {
            self.leave();
        }
    }

    /// Wait, to be woken on the processor where we are.
    pub(super) fn stay<T>(&self, wait: impl FnOnce() -> T) -> T {
        let is_settled = settle(sched_getcpu());
        let outcome = wait();
        if is_settled {
            self.leave();
        }
        outcome
    }

    /// From now on, run anywhere.
    fn leave(&self) {
        let _ = sched_setaffinity(None, &self.all);
    }
}

/// From now on, run on this processor only.
fn settle(cpu: usize) -> bool {
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).is_ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::thread::{sched_getaffinity, sched_getcpu};

    use super::Processors;

    #[test]
    fn threads_begin_on_processors_of_their_own_and_may_run_anywhere() {
        let allowed = sched_getaffinity(None).unwrap();
        let count = allowed.count() as usize;
        let Some(processors) = Processors::for_each_of(count) else {
            assert_eq!(count, 1);
            return;
        };
        assert_eq!(processors.others.len(), count - 1);
        assert!(Processors::for_each_of(count - 1).is_none());
        thread::scope(|scope| {
            for number in 1..count {
                let processors = &processors;
                scope.spawn(move || {
                    processors.take(number);
                    assert!(sched_getaffinity(None).unwrap() == allowed);
                    let here = processors.stay(|| {
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
