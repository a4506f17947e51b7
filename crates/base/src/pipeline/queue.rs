//! The queue of batches, in archive order, whichever thread plans them.
//!
//! A source stands in the queue where its next batch belongs. A source that was split off stands
//! after the one that it was split from. Must not hold work: the coordinator asks for it.

use std::collections::VecDeque;

use crate::error::{Error, Result};

/// One source plans at most this share of all queued batches before its turn.
const SHARE: usize = 8;

/// Names a place in the queue, however the queue moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// Batches that become jobs `J`, and the sources of further batches.
pub(super) struct Queue<S, J> {
    places: VecDeque<(Ticket, QueuePlace<S, J>)>,
    tickets: u64,
}

enum QueuePlace<S, J> {
    /// A source; `None` while a thread plans with it.
    Source(Option<S>),
    /// The jobs of a batch; `None` while a thread splits the batch.
    Batch(Option<Vec<J>>),
    /// Planning or splitting failed here.
    Failed(Error),
}

impl<S, J> Queue<S, J> {
    pub(super) fn new(source: S) -> Self {
        let mut queue = Self {
            places: VecDeque::new(),
            tickets: 0,
        };
        queue.insert(0, QueuePlace::Source(Some(source)));
        queue
    }

    /// Whether no further job can come out of the queue.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the queue has room for a further source: fewer than `max` places, and none of the later
    /// sources is free.
    pub(super) fn wants_source(&self, max: usize) -> bool {
        self.places.len() < max && self.later(max).is_none()
    }

    /// Takes the first source, which plans the next jobs; `None` while a thread has it. Splitting may take
    /// long, so after batches that are being split a source waits while `max` places are queued.
    pub(super) fn take_next(&mut self, max: usize) -> Option<(Ticket, S)> {
        let first = self.first_source()?;
        if first == 0 || self.places.len() < max {
            self.take(first)
        } else {
            None
        }
    }

    /// Takes a source after the first one, while fewer than `max` places are queued.
    pub(super) fn take_later(&mut self, max: usize) -> Option<(Ticket, S)> {
        if self.places.len() < max {
            self.take(self.later(max)?)
        } else {
            None
        }
    }

    fn first_source(&self) -> Option<usize> {
        let is_source =
            |(_, place): &(Ticket, QueuePlace<S, J>)| matches!(place, QueuePlace::Source(_));
        self.places.iter().position(is_source)
    }

    /// Finds a free source after the first one. A source that has planned its share before its turn
    /// waits, so that earlier sources find room.
    fn later(&self, max: usize) -> Option<usize> {
        let share = max.div_ceil(SHARE);
        let mut batches = 0;
        for at in self.first_source()? + 1..self.places.len() {
            match &self.places[at].1 {
                QueuePlace::Source(Some(_)) if batches < share => return Some(at),
                QueuePlace::Source(_) => batches = 0,
                QueuePlace::Batch(_) | QueuePlace::Failed(_) => batches += 1,
            }
        }
        None
    }

    fn take(&mut self, at: usize) -> Option<(Ticket, S)> {
        let (ticket, place) = &mut self.places[at];
        match place {
            QueuePlace::Source(source) => Some((*ticket, source.take()?)),
            _ => None,
        }
    }

    /// Notes that the source with this `ticket` has planned a batch; the `sources` continue after the
    /// batch, whose jobs are expected under the same ticket. Returns `false` if an earlier failure made
    /// the batch worthless.
    pub(super) fn planned(&mut self, ticket: Ticket, sources: impl Iterator<Item = S>) -> bool {
        let Some(at) = self.find(ticket) else {
            return false;
        };
        self.places[at].1 = QueuePlace::Batch(None);
        for (offset, source) in sources.enumerate() {
            self.insert(at + 1 + offset, QueuePlace::Source(Some(source)));
        }
        true
    }

    /// Puts the jobs of a batch in its place. A failure ends the queue there.
    pub(super) fn split(&mut self, ticket: Ticket, jobs: Result<Vec<J>>) {
        let Some(at) = self.find(ticket) else {
            return;
        };
        match jobs {
            Ok(jobs) => self.places[at].1 = QueuePlace::Batch(Some(jobs)),
            Err(error) => {
                self.places.truncate(at + 1);
                self.places[at].1 = QueuePlace::Failed(error);
            }
        }
    }

    /// Removes the jobs of the first batch, if the batch is split, or the failure in its place.
    pub(super) fn pop(&mut self) -> Option<Result<Vec<J>>> {
        match self.places.front()? {
            (_, QueuePlace::Batch(Some(_)) | QueuePlace::Failed(_)) => {}
            _ => return None,
        }
        match self.places.pop_front()?.1 {
            QueuePlace::Batch(jobs) => jobs.map(Ok),
            QueuePlace::Failed(error) => Some(Err(error)),
            QueuePlace::Source(_) => None,
        }
    }

    fn find(&self, ticket: Ticket) -> Option<usize> {
        self.places.iter().position(|(other, _)| *other == ticket)
    }

    fn insert(&mut self, at: usize, place: QueuePlace<S, J>) {
        self.tickets += 1;
        self.places.insert(at, (Ticket(self.tickets), place));
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, Ticket};
    use crate::error::Error;

    /// A source by its name.
    #[derive(Debug, PartialEq)]
    struct Named(char);

    /// A queue whose first source has planned a batch and left the rest to two others.
    fn divided() -> (Queue<Named, u32>, Ticket) {
        let mut queue = Queue::new(Named('a'));
        let (ticket, _) = queue.take_next(9).unwrap();
        assert!(queue.planned(ticket, ['a', 'b'].map(Named).into_iter()));
        (queue, ticket)
    }

    fn all_split(queue: &mut Queue<Named, u32>) -> Vec<u32> {
        let split = std::iter::from_fn(|| queue.pop());
        split.flat_map(|jobs| jobs.expect("none fails")).collect()
    }

    #[test]
    fn jobs_that_are_planned_ahead_wait_for_their_turn() {
        let (mut queue, first) = divided();
        let (early, source) = queue.take_next(9).unwrap();
        assert_eq!(source, Named('a'));
        assert!(queue.take_next(9).is_none());
        let (late, source) = queue.take_later(9).unwrap();
        assert_eq!(source, Named('b'));
        queue.planned(late, std::iter::once(source));
        queue.split(late, Ok(vec![40]));
        queue.split(first, Ok(vec![10]));
        assert_eq!(all_split(&mut queue), [10]);
        queue.planned(early, std::iter::empty());
        queue.split(early, Ok(vec![30]));
        assert_eq!(all_split(&mut queue), [30, 40]);
        let (last, source) = queue.take_next(9).unwrap();
        assert_eq!(source, Named('b'));
        queue.planned(last, std::iter::empty());
        queue.split(last, Ok(vec![50]));
        assert_eq!(all_split(&mut queue), [50]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_source_plans_no_more_than_its_share_before_its_turn() {
        let (mut queue, _) = divided();
        queue.take_next(9).unwrap();
        for _ in 0..2 {
            assert!(!queue.wants_source(9));
            let (ticket, source) = queue.take_later(9).unwrap();
            queue.planned(ticket, std::iter::once(source));
        }
        assert!(queue.take_later(9).is_none() && queue.wants_source(9));
        assert!(queue.take_later(5).is_none() && !queue.wants_source(5));
        assert!(queue.take_later(17).is_some());
    }

    #[test]
    fn nothing_follows_a_failure() {
        let (mut queue, first) = divided();
        let (early, _) = queue.take_next(9).unwrap();
        let (late, _) = queue.take_later(9).unwrap();
        queue.split(early, Err(Error::fatal("cannot")));
        assert!(!queue.planned(late, std::iter::empty()));
        queue.split(first, Ok(vec![10]));
        assert_eq!(queue.pop().unwrap().unwrap(), [10]);
        assert!(queue.pop().unwrap().is_err());
        assert!(queue.is_empty());
    }

    #[test]
    fn few_batches_wait_for_one_that_is_being_split() {
        let mut queue = Queue::<Named, u32>::new(Named('a'));
        let mut planned = 0;
        while let Some((ticket, source)) = queue.take_next(4) {
            queue.planned(ticket, std::iter::once(source));
            if planned > 0 {
                queue.split(ticket, Ok(vec![]));
            }
            planned += 1;
            assert!(planned < 9, "the queue has no bound");
        }
        assert_eq!(planned, 3);
    }
}
