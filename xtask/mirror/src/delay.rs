//! Sends answers when they are due, so that many requests wait at once without a thread for each.
//!
//! A thread for each waiting request would take processor time from the programs that are measured.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

type Answer = Box<dyn FnOnce() + Send>;

/// Threads that send answers. Sending copies the data to the kernel.
const SENDERS: usize = 2;

/// The answers that are not due yet. The threads end when it is dropped and the last answer is sent.
pub(crate) struct Delay {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: BinaryHeap<Waiting>,
    is_closed: bool,
}

struct Waiting {
    due: Instant,
    answer: Answer,
}

impl Delay {
    pub(crate) fn new() -> Self {
        let shared = Arc::new(Shared::default());
        for _ in 0..SENDERS {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.send_answers());
        }
        Self { shared }
    }

    /// Calls `answer` on another thread when it is `due`, or on this thread if that is now.
    pub(crate) fn until(&self, due: Instant, answer: impl FnOnce() + Send + 'static) {
        if due <= Instant::now() {
            answer();
            return;
        }
        let answer = Box::new(answer);
        self.shared.lock().waiting.push(Waiting { due, answer });
        self.shared.changed.notify_one();
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn send_answers(&self) {
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            match queue.waiting.peek().map(|next| next.due) {
                Some(due) if due <= now => {
                    let next = queue.waiting.pop();
                    drop(queue);
                    if let Some(next) = next {
                        (next.answer)();
                    }
                    queue = self.lock();
                }
                Some(due) => {
                    let waited = self.changed.wait_timeout(queue, due - now);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None if queue.is_closed => return,
                None => {
                    let waited = self.changed.wait(queue);
                    queue = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The heap has the greatest element at its top, so what is due first is the greatest.
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::Delay;

    #[test]
    fn answers_come_when_they_are_due() {
        let delay = Delay::new();
        let (sender, receiver) = mpsc::channel();
        let started = Instant::now();
        for milliseconds in [60, 20, 0, 40] {
            let sender = sender.clone();
            let wait = Duration::from_millis(milliseconds);
            delay.until(started + wait, move || {
                let late = started.elapsed().checked_sub(wait);
                sender.send((milliseconds, late)).unwrap();
            });
        }
        drop((sender, delay));
        let answers: Vec<_> = receiver.iter().collect();
        assert!(
            answers.iter().all(|(_, late)| late.is_some()),
            "{answers:?}"
        );
        let order: Vec<_> = answers.iter().map(|(wait, _)| *wait).collect();
        assert_eq!(order, [0, 20, 40, 60]);
    }
}
