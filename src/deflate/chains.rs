//! Where the same three bytes were seen before: hash chains, built ahead of the parse.
//!
//! The lazy parser indexes every position, so its chains depend on the input alone. A position is
//! kept as its low 16 bits, for indices of the text count from a multiple of 65,536; a link is the
//! distance to the position before in the same bucket.

use super::level::{MAX_DISTANCE, WINDOW};

/// Positions are kept modulo this.
pub(super) const RING: usize = 1 << 16;
/// Buckets of three bytes.
pub(super) const BUCKETS: usize = 1 << 15;
/// How many positions are indexed at a time.
const STRIDE: usize = 8192;
/// A head must be refreshed before its age no longer fits 16 bits.
pub(super) const SWEEP: usize = 3 * STRIDE;

/// The bucket of three bytes, as both originals hash them.
pub(super) fn bucket(bytes: [u8; 3]) -> usize {
    let [a, b, c] = bytes.map(usize::from);
    (a << 10 ^ b << 5 ^ c) & (BUCKETS - 1)
}

/// Every position, chained to the one before that has the same hash.
pub(super) struct Chains {
    /// The newest position in each bucket.
    heads: Box<[u16; BUCKETS]>,
    /// The distance to the one before, by position; too far if there is none.
    links: Box<[u16; RING]>,
    /// Positions before this one are in.
    filled: usize,
    /// When the heads were last refreshed.
    swept: usize,
}

impl Chains {
    pub(super) fn new() -> Self {
        Self {
            heads: Box::new([0; BUCKETS]),
            links: Box::new([0; RING]),
            filled: 0,
            swept: 0,
        }
    }

    /// Forget everything, and index what a match at `at` can reach. `origin` says whether `text`
    /// begins with the input; nothing ever matches its first byte.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        let from = at.saturating_sub(MAX_DISTANCE);
        let from = if origin { from.max(1) } else { from };
        self.heads.fill((from as u16).wrapping_sub(WINDOW as u16));
        self.links[0] = WINDOW as u16;
        (self.filled, self.swept) = (from, from);
        while self.filled < at {
            self.fill(text);
        }
    }

    /// Go on in a text that lacks the first `count` bytes, a multiple of the ring.
    pub(super) fn rebase(&mut self, count: usize) {
        self.filled -= count;
        self.swept -= count;
    }

    /// Index `text` up to `at` and beyond; it has 8 more bytes there.
    pub(super) fn reach(&mut self, text: &[u8], at: usize) {
        while self.filled <= at {
            self.fill(text);
        }
    }

    /// Index what is left of `text`.
    pub(super) fn finish(&mut self, text: &[u8]) {
        while self.filled + 2 < text.len() {
            self.insert(text, text.len() - 2);
        }
    }

    /// The distance from `at` to the position before it in its bucket.
    pub(super) fn link(&self, at: usize) -> usize {
        usize::from(self.links[at & (RING - 1)])
    }

    fn fill(&mut self, text: &[u8]) {
        self.insert(text, text.len() - 2);
    }

    fn insert(&mut self, text: &[u8], end: usize) {
        let end = end.min(self.filled + STRIDE);
        if end >= self.swept + SWEEP {
            sweep(&mut self.heads, self.filled);
            self.swept = self.filled;
        }
        for at in self.filled..end {
            let head = &mut self.heads[bucket([text[at], text[at + 1], text[at + 2]])];
            self.links[at & (RING - 1)] = (at as u16).wrapping_sub(*head);
            *head = at as u16;
        }
        self.filled = end;
    }
}

/// Hold the age of heads at one window, before it wraps around.
pub(super) fn sweep(heads: &mut [u16; BUCKETS], now: usize) {
    let now = now as u16;
    for head in heads {
        let age = now.wrapping_sub(*head);
        *head = now.wrapping_sub(age.min(WINDOW as u16));
    }
}
