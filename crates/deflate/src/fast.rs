//! The fast parser of levels 1 to 3: the first match is taken.
//!
//! The parser does not index the inside of long matches, so its chains depend on the parse.

use super::{
    chains::{BUCKETS, bucket, place, sweep},
    level::{Effort, MAX_DISTANCE, MIN_MATCH, WINDOW},
    reference::{Match, Reference, end_in_sight},
    token::Token,
    words::{agreement, common, triple, word},
};

/// The parser and its chains, which are kept as those of the lazy parser are.
pub(super) struct Fast {
    heads: Box<[u16; BUCKETS]>,
    links: Box<[u16; WINDOW]>,
    swept: usize,
    at: usize,
    /// Where matches may begin: not at the first byte of the input.
    first: usize,
    effort: Effort,
}

impl Fast {
    pub(super) fn new(effort: Effort) -> Self {
        Self {
            heads: Box::new([0; BUCKETS]),
            links: Box::new([0; WINDOW]),
            swept: 0,
            at: 0,
            first: 0,
            effort,
        }
    }

    /// Starts at `at`, as if every position before it had been indexed. `origin` says whether `text`
    /// begins with the input.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        self.first = usize::from(origin);
        let from = at.saturating_sub(MAX_DISTANCE).max(self.first);
        self.heads.fill(0);
        self.swept = from;
        for position in from..at {
            self.index(position, triple(text, position));
        }
        self.at = at;
    }

    /// The position to look at next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes on in a text without its first `count` bytes: a multiple of the ring.
    pub(super) fn rebase(&mut self, count: usize) {
        self.swept -= count;
        self.at -= count;
        self.first = self.first.saturating_sub(count);
    }

    /// Parses up to `until`; the text goes on for a lookahead.
    pub(super) fn run(&mut self, text: &[u8], until: usize, tokens: &mut Vec<Token>) {
        while self.at < until {
            let word = word(text, self.at);
            self.index(self.at, word);
            let found = self.search(text, word);
            self.take(text, found, tokens);
        }
    }

    /// Parses up to the end.
    pub(super) fn finish(&mut self, reference: &mut Reference, tokens: &mut Vec<Token>) {
        let text = reference.text;
        self.run(text, end_in_sight(text), tokens);
        reference.notice = Some(reference.origin + self.at as u64);
        while self.at < text.len() {
            let mut found = (0, 0);
            if text.len() - self.at >= MIN_MATCH {
                self.index(self.at, triple(text, self.at));
                let link = |at| self.link(at);
                found = reference.search(self.at, MIN_MATCH - 1, self.effort, link);
            }
            self.take(text, found, tokens);
        }
    }

    /// The best match where the end is not in sight, as the reference search finds it.
    #[inline(always)]
    fn search(&self, text: &[u8], here: u64) -> Match {
        let at = self.at;
        let mut distance = self.link(at);
        if distance > MAX_DISTANCE {
            return (0, 0);
        }
        let (mut best, mut place) = (MIN_MATCH - 1, 0);
        for _ in 0..self.effort.chain {
            let candidate = at - distance;
            let length = match word(text, candidate) ^ here {
                0 => common(text, candidate, at),
                difference => agreement(difference),
            };
            if length > best {
                (best, place) = (length, candidate);
                if length >= self.effort.nice {
                    break;
                }
            }
            distance += self.link(candidate);
            if distance >= MAX_DISTANCE {
                break;
            }
        }
        (best, place)
    }

    /// Emits a token for the match, or a literal, and moves to its end.
    #[inline(always)]
    fn take(&mut self, text: &[u8], (length, place): Match, tokens: &mut Vec<Token>) {
        let at = self.at;
        if length < MIN_MATCH {
            tokens.push(Token::literal(text[at], false));
            self.at += 1;
            return;
        }
        tokens.push(Token::matched(length, at - place));
        self.at += length;
        if length <= self.effort.lazy && text.len() - self.at >= MIN_MATCH {
            for inside in at + 1..self.at {
                self.index(inside, triple(text, inside));
            }
        }
    }

    /// The distance from `at` to the position before it in its bucket.
    #[inline(always)]
    fn link(&self, at: usize) -> usize {
        usize::from(self.links[at & (WINDOW - 1)])
    }

    /// Indexes `at`, where the text reads `word`.
    #[inline(always)]
    fn index(&mut self, at: usize, word: u64) {
        if at >= self.swept + WINDOW {
            sweep(&mut self.heads[..], (at - self.swept) as u16);
            self.swept = at;
        }
        let head = &mut self.heads[bucket(word)];
        let place = place(at, self.swept);
        self.links[at & (WINDOW - 1)] = place.wrapping_sub(*head);
        if at >= self.first {
            *head = place;
        }
    }
}
