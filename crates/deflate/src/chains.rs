//! Hash chains: for each position, the earlier positions with the same bytes. The chains are built ahead of the parse.
//!
//! The lazy parser indexes every position, so its chains depend on the input alone. The chain of three bytes is the
//! originals'. Each position in that chain has an ordinal, from which a candidate of another chain tells how many
//! candidates the originals would have tried before. The other chains are of more bytes, with far fewer candidates.
//!
//! A head has 16 bits, as in zlib: a position counted from a base that moves on now and then, and zero for all
//! positions before the base. A link is the distance to the previous position in the same bucket.

use super::{
    level::{MAX_DISTANCE, WINDOW},
    words::triple,
};

/// The number of remembered positions. Positions are indices modulo this number.
const RING: usize = 1 << 16;
/// The buckets of the chain of three bytes.
pub(super) const BUCKETS: usize = 1 << 15;
/// The bits of a bucket number of the other chains.
const GRAM_BITS: u32 = 16;
/// The number of positions that are indexed at a time.
const STRIDE: usize = 2048;
/// Positions per base. A head has 16 bits and counts from a window before the base.
const SWEEP: usize = WINDOW - STRIDE;

/// The number of equal bytes in the short and in the long chain.
pub(super) const SHORT: usize = 4;
pub(super) const LONG: usize = 6;

/// The bucket of the first three bytes of `word`, as both originals hash them.
#[inline(always)]
pub(super) fn bucket(word: u64) -> usize {
    let [a, b, c, ..] = word.to_le_bytes().map(usize::from);
    (a << 10 ^ b << 5 ^ c) & (BUCKETS - 1)
}

/// All positions, each linked to the previous one in its bucket.
pub(super) struct Chains {
    /// For each bucket of three bytes of the originals: the newest position, and in the high half its
    /// ordinal.
    heads: Box<[u32; BUCKETS]>,
    /// For each position: the distance to the previous one, and in the high half its own ordinal.
    links: Box<[u32; RING]>,
    /// The chains of positions that agree in more bytes.
    pub(super) short: Grams<SHORT>,
    pub(super) long: Grams<LONG>,
    /// All positions before this one are indexed.
    filled: usize,
    /// The position at which the heads were last moved.
    swept: usize,
}

/// The chain of positions that agree in `N` bytes, by their hash.
pub(super) struct Grams<const N: usize> {
    heads: Box<[u16; 1 << GRAM_BITS]>,
    links: Box<[u16; RING]>,
}

impl<const N: usize> Grams<N> {
    fn new() -> Self {
        Self {
            heads: Box::new([0; 1 << GRAM_BITS]),
            links: Box::new([0; RING]),
        }
    }

    fn begin(&mut self) {
        self.heads.fill(0);
        self.links[0] = WINDOW as u16;
    }

    /// The distance from `at` to the previous position in its bucket.
    #[inline(always)]
    pub(super) fn link(&self, at: usize) -> usize {
        usize::from(self.links[at & (RING - 1)])
    }

    #[inline(always)]
    fn insert(&mut self, at: usize, place: u16, word: u64) {
        let key = word << (64 - 8 * N);
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - GRAM_BITS);
        let head = &mut self.heads[hash as usize & ((1 << GRAM_BITS) - 1)];
        self.links[at & (RING - 1)] = place.wrapping_sub(*head);
        *head = place;
    }
}

/// The eight bytes at each position as a number, the first byte lowest.
fn words(text: &[u8]) -> impl Iterator<Item = u64> {
    let words = text.windows(8);
    words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
}

impl Chains {
    pub(super) fn new() -> Self {
        Self {
            heads: Box::new([0; BUCKETS]),
            links: Box::new([0; RING]),
            short: Grams::new(),
            long: Grams::new(),
            filled: 0,
            swept: 0,
        }
    }

    /// Drop the index, and index the positions that a match at `at` can reach. `origin` says whether `text`
    /// begins with the input, whose first byte is never matched.
    pub(super) fn begin(&mut self, text: &[u8], at: usize, origin: bool) {
        let from = at.saturating_sub(MAX_DISTANCE).max(usize::from(origin));
        self.heads.fill(0);
        self.links[0] = WINDOW as u32;
        self.short.begin();
        self.long.begin();
        (self.filled, self.swept) = (from, from);
        if at > from {
            self.reach(text, at - 1);
        }
    }

    /// Continue in a text without its first `count` bytes, a multiple of the ring.
    pub(super) fn rebase(&mut self, count: usize) {
        self.filled -= count;
        self.swept -= count;
    }

    /// Index `text` up to `at` at least. The text must have 8 more bytes after `at`.
    #[inline(always)]
    pub(super) fn reach(&mut self, text: &[u8], at: usize) {
        while self.filled <= at {
            self.fill(text);
        }
    }

    /// The distance from `at` to the previous position in its bucket of three bytes.
    #[inline(always)]
    pub(super) fn link(&self, at: usize) -> usize {
        (self.links[at & (RING - 1)] & 0xffff) as usize
    }

    /// The number of candidates that the originals try from `at` on until they reach `place`, which is in
    /// the same bucket.
    #[inline(always)]
    pub(super) fn tries(&self, at: usize, place: usize) -> usize {
        let ordinal = |at: usize| (self.links[at & (RING - 1)] >> 16) as u16;
        usize::from(ordinal(at).wrapping_sub(ordinal(place)))
    }

    #[inline(never)]
    fn fill(&mut self, text: &[u8]) {
        let start = self.filled;
        let end = (text.len() - 7).min(start + STRIDE);
        if end >= self.swept + SWEEP {
            self.sweep();
        }
        let text = &text[start..end + 7];
        let swept = self.swept;
        for (at, word) in (start..).zip(words(text)) {
            let place = place(at, swept);
            self.insert(at, place, word);
            self.short.insert(at, place, word);
            self.long.insert(at, place, word);
        }
        self.filled = end;
    }

    #[inline(always)]
    fn insert(&mut self, at: usize, place: u16, word: u64) {
        let head = &mut self.heads[bucket(word)];
        let distance = place.wrapping_sub(*head as u16);
        let ordinal = (*head & 0xffff_0000).wrapping_add(1 << 16);
        self.links[at & (RING - 1)] = ordinal | u32::from(distance);
        *head = ordinal | u32::from(place);
    }

    /// Index the last positions of `text`, only by three bytes.
    pub(super) fn finish(&mut self, text: &[u8]) {
        for at in self.filled..text.len().saturating_sub(2) {
            self.insert(at, place(at, self.swept), triple(text, at));
        }
    }

    fn sweep(&mut self) {
        let count = (self.filled - self.swept) as u16;
        for head in self.heads.iter_mut() {
            *head = *head & 0xffff_0000 | u32::from((*head as u16).saturating_sub(count));
        }
        sweep(&mut self.short.heads[..], count);
        sweep(&mut self.long.heads[..], count);
        self.swept = self.filled;
    }
}

/// The number of position `at` in heads that were last moved at `swept`.
#[inline(always)]
pub(super) fn place(at: usize, swept: usize) -> u16 {
    (at + WINDOW - swept) as u16
}

/// Move the base of heads by `count` positions.
pub(super) fn sweep(heads: &mut [u16], count: u16) {
    for head in heads {
        *head = head.saturating_sub(count);
    }
}
