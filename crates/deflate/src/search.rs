//! The quick search finds the originals' matches without trying all of their candidates.
//!
//! The originals try a limited number of candidates of a bucket of three bytes, nearest first, and keep the
//! longest match, the nearest of equal ones. The result does not depend on the order of trials. So this
//! search tries candidates that agree in six bytes first, and those that agree in four only if there is
//! none. A candidate's ordinal tells whether the originals would have tried it.
//!
//! The search needs a full lookahead after the position.

use std::ops::ControlFlow;

use super::{
    chains::{Chains, Grams, LONG, SHORT},
    level::{Effort, MAX_DISTANCE, TOO_FAR},
    reference::Match,
    words::{agreement, common, half, word},
};

/// One search.
struct MatchSearch<'a> {
    chains: &'a Chains,
    text: &'a [u8],
    at: usize,
    /// The eight bytes at `at`.
    word: u64,
    /// A match must be longer than this.
    least: usize,
    /// The number of candidates that the originals try.
    budget: usize,
    nice: usize,
}

/// With more hash collisions in a chain, the input was made to collide, and the reference search is faster.
const MAX_COLLISIONS: usize = 64;

/// No match.
const NOTHING: Match = (0, 0);

/// The best match at `at` that is longer than `least`. A match of three bytes that lies too far back does
/// not count. `None` if a chain has too many collisions.
#[inline(never)]
pub(super) fn search(
    chains: &Chains,
    text: &[u8],
    at: usize,
    least: usize,
    effort: Effort,
) -> Option<Match> {
    let search = MatchSearch {
        chains,
        text,
        at,
        word: word(text, at),
        least,
        budget: effort.budget(least),
        nice: effort.nice,
    };
    if least >= LONG - 1 {
        return search.long(0);
    }
    // The nearest candidate of the short chain often shows that there is no match.
    let (distance, length) = search.nearest()?;
    if length < SHORT {
        return Some(search.three());
    }
    let found = search.long(if length < LONG { 0 } else { distance })?;
    if found != NOTHING {
        return Some(found);
    }
    let found = search.short(distance)?;
    if found != NOTHING {
        return Some(found);
    }
    Some(search.three())
}

impl MatchSearch<'_> {
    /// Visit the candidates that agree in `N` bytes, nearest first, with their distance and the difference
    /// of their first bytes. `distance` is that of the first candidate, or 0. `None` if collisions leave
    /// the visit incomplete.
    #[inline(always)]
    fn walk<const N: usize>(
        &self,
        grams: &Grams<N>,
        mut distance: usize,
        mut visit: impl FnMut(usize, u64) -> ControlFlow<()>,
    ) -> Option<()> {
        let mut others = 0;
        if distance == 0 {
            distance = grams.link(self.at);
        }
        for _ in 0..self.budget {
            if distance > MAX_DISTANCE {
                return Some(());
            }
            let difference = word(self.text, self.at - distance) ^ self.word;
            if difference << (64 - 8 * N) != 0 {
                others += 1;
                if others > MAX_COLLISIONS {
                    return None;
                }
            } else if visit(distance, difference).is_break() {
                return Some(());
            }
            distance += grams.link(self.at - distance);
        }
        // Without collisions, the visited candidates include all that the originals try.
        (others == 0).then_some(())
    }

    /// The nearest candidate of the short chain: its distance, and the number of bytes in which it agrees.
    #[inline(always)]
    fn nearest(&self) -> Option<(usize, usize)> {
        let mut nearest = (0, 0);
        self.walk(&self.chains.short, 0, |distance, difference| {
            nearest = (distance, agreement(difference));
            ControlFlow::Break(())
        })?;
        Some(nearest)
    }

    /// The best match of at least `LONG` bytes. `distance` is that of the first candidate, or 0.
    ///
    /// Most candidates differ at the end of a longer match. So the end is compared first, without a check
    /// for collisions.
    #[inline(always)]
    fn long(&self, mut distance: usize) -> Option<Match> {
        let mut best = self.least.max(LONG - 1);
        let mut found = NOTHING;
        let mut ends = &self.text[best - 3..];
        let mut end = half(ends, self.at);
        if distance == 0 {
            distance = self.chains.long.link(self.at);
        }
        for seen in 1..self.budget + MAX_COLLISIONS {
            if distance > MAX_DISTANCE {
                return Some(found);
            }
            let candidate = self.at - distance;
            if half(ends, candidate) == end && self.agrees::<LONG>(candidate) {
                let length = common(self.text, candidate, self.at);
                if length > best {
                    if !self.is_tried(distance) {
                        return Some(found);
                    }
                    (best, found) = (length, (length, candidate));
                    if length >= self.nice {
                        return Some(found);
                    }
                    ends = &self.text[best - 3..];
                    end = half(ends, self.at);
                }
            }
            // The originals try no more candidates than `budget`. With collisions, the ordinal decides.
            if seen >= self.budget
                && self.agrees::<LONG>(candidate)
                && self.chains.tries(self.at, candidate) >= self.budget
            {
                return Some(found);
            }
            distance += self.chains.long.link(candidate);
        }
        None
    }

    /// Whether the first `N` bytes at `candidate` equal those at `at`.
    #[inline(always)]
    fn agrees<const N: usize>(&self, candidate: usize) -> bool {
        (word(self.text, candidate) ^ self.word) << (64 - 8 * N) == 0
    }

    /// The best match of at least `SHORT` bytes, if there is no long match. `distance` is that of the
    /// nearest candidate.
    #[inline(always)]
    fn short(&self, distance: usize) -> Option<Match> {
        let mut best = self.least.max(SHORT - 1);
        let mut found = NOTHING;
        self.walk(&self.chains.short, distance, |distance, difference| {
            let length = agreement(difference);
            if length <= best {
                return ControlFlow::Continue(());
            }
            if !self.is_tried(distance) {
                return ControlFlow::Break(());
            }
            (best, found) = (length, (length, self.at - distance));
            if length == LONG - 1 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Some(found)
    }

    /// The nearest match of three bytes, if there is no longer match.
    #[inline(always)]
    fn three(&self) -> Match {
        if self.least >= 3 {
            return NOTHING;
        }
        let mut distance = 0;
        for _ in 0..self.budget {
            distance += self.chains.link(self.at - distance);
            if distance > TOO_FAR {
                break;
            }
            let candidate = self.at - distance;
            if (word(self.text, candidate) ^ self.word) << 40 == 0 {
                return (3, candidate);
            }
        }
        NOTHING
    }

    /// Whether the originals try the candidate at `distance`, which agrees in three bytes: it is within
    /// their budget. At the greatest distance it must also be the first.
    #[inline(always)]
    fn is_tried(&self, distance: usize) -> bool {
        let tries = self.chains.tries(self.at, self.at - distance);
        tries <= self.budget && (distance < MAX_DISTANCE || tries == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Level, level::LOOKAHEAD, reference::Reference};

    /// Words of few letters: every kind of match, and crowded chains.
    fn text(letters: u64) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        let mut text = Vec::new();
        while text.len() < 70_000 {
            let from = next() as usize % (text.len() + 1);
            let count = next() as usize % 30;
            for place in from..from + count {
                text.push(text.get(place).copied().unwrap_or(b' '));
            }
            text.push(b' ' + (next() % letters) as u8);
        }
        text
    }

    #[test]
    fn both_searches_find_the_same() {
        for (letters, number) in [(2, 4), (3, 6), (26, 5), (26, 9), (200, 6)] {
            let text = text(letters);
            let effort = Level::new(number).expect("a level").effort();
            let mut chains = Chains::new();
            chains.begin(&text, 0, true);
            let reference = Reference {
                text: &text,
                origin: 0,
                dialect: Dialect::Zlib,
                notice: None,
            };
            for at in 0..text.len() - LOOKAHEAD {
                chains.reach(&text, at);
                let least = [2, 2, 3, 5, 9, 40][at % 6];
                let link = |at| chains.link(at);
                let expected = match reference.search(at, least, effort, link) {
                    (length, _) if length <= least => NOTHING,
                    (3, place) if at - place > TOO_FAR => NOTHING,
                    found => found,
                };
                if let Some(found) = search(&chains, &text, at, least, effort) {
                    assert_eq!(
                        found, expected,
                        "{letters} letters, level {number}, at {at}"
                    );
                }
            }
        }
    }
}
