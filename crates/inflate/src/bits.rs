//! A slice as bits, the lowest bit of each byte first (RFC 1951, 3.1.1).
//!
//! Beyond the end of the slice all bits are zero, so a reader need not check for the end before each bit.
//! The use of such bits is detected at the next byte boundary, or when the input moves to the tail.

use std::{error::Error, fmt};

/// A stream was not inflated: it is damaged, unusual, or not of the size of its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("not a usual zlib stream of the expected length")
    }
}

impl Error for Refused {}

/// An input with fewer bytes left is moved to a buffer of trailing zeros.
const SOON: usize = 128;
/// The size of that buffer: room for the rest of the input and for reads beyond the end before it is
/// detected.
pub(super) const TAIL: usize = 5 * SOON;

/// A position in the input.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    /// The slice.
    pub(super) input: &'a [u8],
    /// The length of the real input in the slice.
    end: usize,
    /// The index of the next byte to fetch. May lie beyond the end.
    pub(super) next: usize,
    /// The fetched and unused bits. Above them may be bits of the byte at `next`.
    pub(super) held: u64,
    /// The number of unused bits, without those of the byte at `next`.
    pub(super) count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        let end = input.len();
        Self {
            input,
            end,
            next: 0,
            held: 0,
            count: 0,
        }
    }

    /// Fetch bytes until at least 56 bits are held.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        let ahead = self
            .input
            .get(self.next..)
            .and_then(|rest| rest.first_chunk());
        let word = match ahead {
            Some(word) => u64::from_le_bytes(*word),
            None => last_word(self.input, self.next),
        };
        let bytes = (63 - self.count) / 8;
        self.held |= word << self.count;
        self.next += bytes as usize;
        self.count += 8 * bytes;
    }

    /// Take `count` of the held bits.
    #[inline(always)]
    pub(super) fn held(&mut self, count: u32) -> u32 {
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        bits as u32
    }

    /// Take the next `count` bits, at most 32.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        if self.count < count {
            self.fetch();
        }
        self.held(count)
    }

    /// Take the next `count` bytes from the next byte boundary on. `None` if there are fewer.
    pub(super) fn aligned(&mut self, count: usize) -> Option<&'a [u8]> {
        self.give_back();
        self.held(self.count);
        let bytes = self.input.get(..self.end)?.get(self.next..)?.get(..count)?;
        self.next += count;
        Some(bytes)
    }

    /// Return whole bytes to the input. Fewer than eight bits stay held.
    pub(super) fn give_back(&mut self) {
        self.next -= (self.count / 8) as usize;
        self.count %= 8;
        self.held &= (1 << self.count) - 1;
    }

    /// Whether too little input is left for reading ahead.
    pub(super) fn ends_soon(&self) -> bool {
        self.input.len() < self.next + SOON
    }

    /// Moves the bits to `tail`, for an input that ends soon. `None` if the input has ended.
    pub(super) fn moved_to(mut self, tail: &'a mut [u8; TAIL]) -> Option<Self> {
        self.give_back();
        let rest = self.input.get(self.next..)?;
        tail.fill(0);
        tail.get_mut(..rest.len())?.copy_from_slice(rest);
        Some(Self {
            input: tail,
            end: rest.len(),
            next: 0,
            ..self
        })
    }
}

/// The last bytes of the input as a word, filled with zeros. Takes no [`Bits`], so that those stay in
/// registers.
#[cold]
fn last_word(input: &[u8], next: usize) -> u64 {
    let rest = input.get(next..).unwrap_or_default();
    rest.iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}
