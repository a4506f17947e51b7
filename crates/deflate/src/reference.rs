//! The reference search tries candidate after candidate, like the originals.
//!
//! The search is used near the end of the input, where the dialects differ, and on input that was made to
//! collide. The tests compare the quick search with it.

use super::{
    Dialect,
    level::{Effort, LOOKAHEAD, MAX_DISTANCE, MAX_MATCH, MIN_MATCH, WINDOW},
    words::common,
};

/// The index in the window at which an original moves the window.
const FULL: u64 = (WINDOW + MAX_DISTANCE) as u64;

/// The input of a search.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    /// The input that has arrived.
    pub(super) text: &'a [u8],
    /// The position of `text` in the input.
    pub(super) origin: u64,
    pub(super) dialect: Dialect,
    /// The position at which the end came in sight, if it did.
    pub(super) notice: Option<u64>,
}

/// A match: its length, less than 3 if there is no match, and the position of the earlier occurrence.
pub(super) type Match = (usize, usize);

/// The start of an original's window at `at`, if the original has moved the window as often as possible.
pub(super) fn window(at: u64) -> u64 {
    match at.checked_sub(FULL + 1) {
        None => 0,
        Some(over) => WINDOW as u64 * (over / WINDOW as u64 + 1),
    }
}

/// The final start of the window, if the end came in sight at `notice`.
pub(super) fn last_window(notice: u64) -> u64 {
    window(notice + 1)
}

/// The first position from which the end of `text` is in sight.
pub(super) fn end_in_sight(text: &[u8]) -> usize {
    (text.len() + 1).saturating_sub(LOOKAHEAD)
}

impl Reference<'_> {
    /// The best match at `at` that is longer than `least`. `link` returns the distance from a position to
    /// the previous candidate.
    pub(super) fn search(
        &self,
        at: usize,
        least: usize,
        effort: Effort,
        link: impl Fn(usize) -> usize,
    ) -> Match {
        let look = self.text.len() - at;
        if look < MIN_MATCH || self.is_blind(at) {
            return (0, 0);
        }
        let mut budget = effort.budget(least);
        let nice = match self.dialect {
            Dialect::Zlib => effort.nice.min(look),
            Dialect::Gzip => effort.nice,
        };
        let mut distance = link(at);
        if distance > MAX_DISTANCE || distance == MAX_DISTANCE && self.just_moved(at) {
            return (0, 0);
        }
        let (mut best, mut place) = (least, 0);
        loop {
            let length = self.common(at - distance, at);
            if length > best {
                (best, place) = (length, at - distance);
                if length >= nice {
                    break;
                }
            }
            distance += link(at - distance);
            budget -= 1;
            if budget == 0 || distance >= MAX_DISTANCE {
                break;
            }
        }
        (best.min(look), place)
    }

    /// Whether `at` lies beyond gzip's window. Near the end gzip stops moving its window, and then does not
    /// search beyond it.
    fn is_blind(&self, at: usize) -> bool {
        let at = self.origin + at as u64;
        let beyond = |notice| at - last_window(notice) > FULL;
        self.dialect == Dialect::Gzip && self.notice.is_some_and(beyond)
    }

    /// Whether the window moves exactly at this position, which puts its first byte out of reach.
    fn just_moved(&self, at: usize) -> bool {
        let at = self.origin + at as u64;
        let here = |notice| at == notice || self.dialect == Dialect::Zlib;
        self.notice.is_some_and(here) && at >= FULL && (at - FULL).is_multiple_of(WINDOW as u64)
    }

    /// The number of equal bytes. gzip compares beyond the end.
    fn common(&self, a: usize, b: usize) -> usize {
        if self.text.len() - b >= MAX_MATCH {
            return common(self.text, a, b);
        }
        let pairs = self.text[a..].iter().zip(&self.text[b..]).take(MAX_MATCH);
        let same = pairs.take_while(|(x, y)| x == y).count();
        if self.dialect == Dialect::Zlib || b + same < self.text.len() {
            return same;
        }
        let agree = |&n: &usize| self.byte(a + n) == self.byte(b + n);
        same + (same..MAX_MATCH).take_while(agree).count()
    }

    /// The byte at a position that may lie beyond the end: two zeros, then the old content of the window.
    fn byte(&self, at: usize) -> u8 {
        let end = self.text.len();
        if at < end {
            return self.text[at];
        }
        let moved = self.origin + end as u64 >= 2 * WINDOW as u64;
        if moved && at >= end + 2 {
            self.text[at - WINDOW]
        } else {
            0
        }
    }
}
