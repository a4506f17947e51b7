//! Lots in order, whoever makes them: a source stands where what it has still to make belongs.

use std::collections::VecDeque;

use super::Source;
use crate::error::Result;

/// One source may make one of so many parts of all lots in line before its turn.
const PART: usize = 8;

/// Tells a place in line, wherever it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// What will be jobs `J`, first things first.
pub(super) struct Lots<S: Source, J> {
    line: VecDeque<(Ticket, Place<S, J>)>,
    tickets: u64,
}

enum Place<S: Source, J> {
    /// There may be more.
    Source(S),
    /// A thread has the source.
    Planning,
    Made(S::Lot),
    /// A thread has the lot.
    Splitting,
    Split(Result<Vec<J>>),
}

/// What a thread has taken out of line; its place is kept.
pub(super) enum Taken<S: Source> {
    /// To be asked for a lot.
    Source(Ticket, S),
    /// To be split.
    Lot(Ticket, S::Lot),
}

impl<S: Source, J> Place<S, J> {
    /// Whether more may come to stand in front of it.
    fn may_grow(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Planning)
    }
}

impl<S: Source, J> Default for Lots<S, J> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            tickets: 0,
        }
    }
}

impl<S: Source, J> Lots<S, J> {
    /// Whether there will be no more jobs.
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Whether another source would help a thread that finds nothing to take.
    pub(super) fn are_few(&self, max: usize) -> bool {
        self.line.len() < max && self.later(max).is_none()
    }

    /// The place of the first source, which a thread has.
    pub(super) fn begin(&mut self) -> Ticket {
        let ticket = self.ticket();
        self.line.push_back((ticket, Place::Planning));
        ticket
    }

    /// Forget what is in line, and what threads are making of it.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }

    /// Take what is to be done first about the next jobs: a lot, if it may be split now, or the source of others.
    pub(super) fn take_next(&mut self, may_split: bool) -> Option<Taken<S>> {
        let at = self.line.iter().position(|(_, place)| match place {
            Place::Made(_) => true,
            place => place.may_grow(),
        })?;
        match &self.line[at].1 {
            Place::Made(_) if !may_split => None,
            _ => self.take(at),
        }
    }

    /// Take what can be done about jobs that come later, behind the first source, while fewer than `max` are in
    /// line.
    pub(super) fn take_later(&mut self, max: usize) -> Option<Taken<S>> {
        match self.line.len() < max {
            true => self.take(self.later(max)?),
            false => None,
        }
    }

    /// Where there is something to take behind the first source. One source may have made a part of `max` before
    /// its turn, so that others can make what comes earlier.
    fn later(&self, max: usize) -> Option<usize> {
        let each = max.div_ceil(PART);
        let first = self.line.iter().position(|(_, place)| place.may_grow())?;
        let mut lots = 0;
        for at in first + 1..self.line.len() {
            match &self.line[at].1 {
                Place::Made(_) => return Some(at),
                Place::Source(_) if lots < each => return Some(at),
                Place::Source(_) | Place::Planning => lots = 0,
                Place::Splitting | Place::Split(_) => lots += 1,
            }
        }
        None
    }

    fn take(&mut self, at: usize) -> Option<Taken<S>> {
        let (ticket, place) = &mut self.line[at];
        let (taken, left) = match std::mem::replace(place, Place::Planning) {
            Place::Source(source) => (Some(Taken::Source(*ticket, source)), Place::Planning),
            Place::Made(lot) => (Some(Taken::Lot(*ticket, lot)), Place::Splitting),
            place => (None, place),
        };
        *place = left;
        taken
    }

    /// Put what the source with this `ticket` made in its place, and behind it the `sources` that go on. Behind
    /// a failure comes nothing.
    pub(super) fn made(
        &mut self,
        ticket: Ticket,
        lot: Result<S::Lot>,
        sources: impl Iterator<Item = S>,
    ) {
        let Some(at) = self.find(ticket) else {
            return; // What comes before it could not be had.
        };
        match lot {
            Ok(lot) => {
                self.line[at].1 = Place::Made(lot);
                for (behind, source) in sources.enumerate() {
                    let ticket = self.ticket();
                    self.line
                        .insert(at + 1 + behind, (ticket, Place::Source(source)));
                }
            }
            Err(error) => {
                self.line.truncate(at);
                self.line.push_back((ticket, Place::Split(Err(error))));
            }
        }
    }

    /// Put what became of the lot with this `ticket` in its place.
    pub(super) fn split(&mut self, ticket: Ticket, jobs: Result<Vec<J>>) {
        if let Some(at) = self.find(ticket) {
            self.line[at].1 = Place::Split(jobs);
        }
    }

    /// What became of the first lot, if it is split.
    pub(super) fn pop_split(&mut self) -> Option<Result<Vec<J>>> {
        match self.line.pop_front()? {
            (_, Place::Split(jobs)) => Some(jobs),
            other => {
                self.line.push_front(other);
                None
            }
        }
    }

    fn find(&self, ticket: Ticket) -> Option<usize> {
        self.line.iter().position(|(other, _)| *other == ticket)
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lots, Taken, Ticket};
    use crate::{
        error::{Error, Result},
        pipeline::{Made, Source},
    };

    /// A source by its name; its lots are numbers.
    #[derive(Debug)]
    struct Named(char);

    impl Source for Named {
        type Lot = u32;

        fn next(&mut self) -> Result<Made<u32>> {
            unreachable!("the test makes the lots")
        }
    }

    fn begun() -> (Lots<Named, u32>, Ticket) {
        let mut lots = Lots::default();
        let ticket = lots.begin();
        (lots, ticket)
    }

    fn source(taken: Option<Taken<Named>>) -> (Ticket, char) {
        match taken {
            Some(Taken::Source(ticket, source)) => (ticket, source.0),
            Some(Taken::Lot(_, lot)) => panic!("that is lot {lot}"),
            None => panic!("there is nothing to take"),
        }
    }

    fn lot(taken: Option<Taken<Named>>) -> (Ticket, u32) {
        match taken {
            Some(Taken::Lot(ticket, lot)) => (ticket, lot),
            Some(Taken::Source(_, source)) => panic!("that is {source:?}"),
            None => panic!("there is nothing to take"),
        }
    }

    fn all_split(lots: &mut Lots<Named, u32>) -> Vec<u32> {
        let split = std::iter::from_fn(|| lots.pop_split());
        split.flat_map(|jobs| jobs.expect("none fails")).collect()
    }

    #[test]
    fn what_is_made_later_waits_for_its_turn() {
        let (mut lots, ticket) = begun();
        lots.made(ticket, Ok(1), ['a', 'b'].map(Named).into_iter());
        assert_eq!(lot(lots.take_next(true)), (ticket, 1));
        let (early, name) = source(lots.take_next(true));
        assert_eq!(name, 'a');
        assert!(lots.take_next(true).is_none());
        let (late, name) = source(lots.take_later(9));
        assert_eq!(name, 'b');
        lots.made(late, Ok(4), ['b'].map(Named).into_iter());
        assert_eq!(lot(lots.take_later(9)), (late, 4));
        lots.split(late, Ok(vec![40]));
        lots.split(ticket, Ok(vec![10]));
        assert_eq!(all_split(&mut lots), [10]);
        lots.made(early, Ok(3), std::iter::empty());
        assert_eq!(lot(lots.take_next(true)), (early, 3));
        assert!(all_split(&mut lots).is_empty());
        lots.split(early, Ok(vec![30]));
        assert_eq!(all_split(&mut lots), [30, 40]);
        let (last, name) = source(lots.take_next(true));
        assert_eq!((name, lots.is_empty()), ('b', false));
        lots.made(last, Ok(5), std::iter::empty());
        lots.split(last, Ok(vec![50]));
        assert_eq!(all_split(&mut lots), [50]);
        assert!(lots.is_empty());
    }

    #[test]
    fn little_is_made_before_its_turn() {
        let (mut lots, first) = begun();
        lots.made(first, Ok(1), ['a', 'b'].map(Named).into_iter());
        lot(lots.take_next(true));
        let (_, _) = source(lots.take_next(true));
        for made in [2, 3] {
            assert!(!lots.are_few(9));
            let (ticket, name) = source(lots.take_later(9));
            assert_eq!(name, 'b');
            lots.made(ticket, Ok(made), ['b'].map(Named).into_iter());
            lot(lots.take_later(9));
        }
        assert!(lots.take_later(9).is_none() && lots.are_few(9));
        assert!(lots.take_later(5).is_none() && !lots.are_few(5));
        assert_eq!(source(lots.take_later(17)).1, 'b');
    }

    #[test]
    fn nothing_comes_behind_a_failure() {
        let (mut lots, first) = begun();
        lots.made(first, Ok(1), ['a', 'b'].map(Named).into_iter());
        lot(lots.take_next(true));
        let (early, _) = source(lots.take_next(true));
        let (late, _) = source(lots.take_later(9));
        lots.made(early, Err(Error::fatal("cannot")), std::iter::empty());
        lots.made(late, Ok(9), std::iter::empty());
        lots.split(first, Ok(vec![10]));
        assert_eq!(lots.pop_split().unwrap().unwrap(), [10]);
        assert!(lots.pop_split().unwrap().is_err());
        assert!(lots.is_empty());
    }

    #[test]
    fn a_lot_may_have_to_wait_to_be_split() {
        let (mut lots, first) = begun();
        lots.made(first, Ok(1), ['a'].map(Named).into_iter());
        assert!(lots.take_next(false).is_none());
        lot(lots.take_next(true));
        assert_eq!(source(lots.take_next(false)).1, 'a');
    }
}
