//! The fast parser of levels 1 to 3: the first match is taken.
//!
//! It does not index the inside of long matches, so its chains depend on the parse.

use super::{
    chains::{BUCKETS, SWEEP, bucket, sweep},
    level::{Effort, MAX_DISTANCE, MIN_MATCH, WINDOW},
    plain::{Found, Plain, end_in_sight},
    token::Token,
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

    /// Start at `at`, as if every position before it had been indexed. `origin` says whether `text`
    /// begins with the input.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        self.first = usize::from(origin);
        let from = at.saturating_sub(MAX_DISTANCE).max(self.first);
        self.heads.fill((from as u16).wrapping_sub(WINDOW as u16));
        self.swept = from;
        for position in from..at {
            self.index(text, position);
        }
        self.at = at;
    }

    /// The position to look at next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Go on in a text that lacks the first `count` bytes, a multiple of the ring.
    pub(super) fn rebase(&mut self, count: usize) {
        self.swept -= count;
        self.at -= count;
        self.first = 0;
    }

    /// Parse up to `until`; the text goes on for a lookahead.
    pub(super) fn run(&mut self, plain: Plain, until: usize, tokens: &mut Vec<Token>) {
        while self.at < until {
            self.step(plain, tokens);
        }
    }

    /// Parse up to the end.
    pub(super) fn finish(&mut self, plain: &mut Plain, tokens: &mut Vec<Token>) {
        self.run(*plain, end_in_sight(plain.text), tokens);
        plain.notice = Some(plain.origin + self.at as u64);
        while self.at < plain.text.len() {
            self.step(*plain, tokens);
        }
    }

    fn step(&mut self, plain: Plain, tokens: &mut Vec<Token>) {
        let (text, at) = (plain.text, self.at);
        let (length, place) = self.search(plain);
        if length < MIN_MATCH {
            tokens.push(Token::literal(text[at], false));
            self.at += 1;
            return;
        }
        tokens.push(Token::matched(length, at - place));
        self.at += length;
        if length <= self.effort.lazy && text.len() - self.at >= MIN_MATCH {
            for inside in at + 1..self.at {
                self.index(text, inside);
            }
        }
    }

    fn search(&mut self, plain: Plain) -> Found {
        if plain.text.len() - self.at < MIN_MATCH {
            return (0, 0);
        }
        self.index(plain.text, self.at);
        let link = |at| usize::from(self.links[at & (WINDOW - 1)]);
        plain.search(self.at, MIN_MATCH - 1, self.effort, link)
    }

    fn index(&mut self, text: &[u8], at: usize) {
        if at >= self.swept + SWEEP {
            sweep(&mut self.heads, at);
            self.swept = at;
        }
        let bytes = [text[at], text[at + 1], text[at + 2]];
        let head = &mut self.heads[bucket(bytes)];
        self.links[at & (WINDOW - 1)] = (at as u16).wrapping_sub(*head);
        if at >= self.first {
            *head = at as u16;
        }
    }
}
