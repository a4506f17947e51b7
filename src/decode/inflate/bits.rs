//! A slice as bits, the lowest of each byte first (RFC 1951, 3.1.1).
//!
//! Behind the end of the slice there are zeros without end, so that nobody has to ask before each
//! bit. Whether any of them were used is found out at the next byte boundary, or when the input moves.

/// Why a stream was not inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) struct Refused;

/// An input with fewer bytes left than this is moved to where zeros follow.
const SOON: usize = 128;
/// Room for that, and for what may be read from there before the end is noticed.
pub(super) const TAIL: usize = 5 * SOON;

/// A place in the input.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    /// What is read from.
    pub(super) input: &'a [u8],
    /// How much of that is real.
    end: usize,
    /// The next byte to fetch, which may lie behind the end.
    pub(super) next: usize,
    /// Bits fetched and not used. Behind them there may be bits of the byte at `next` already.
    pub(super) held: u64,
    /// How many they are, without those.
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

    /// Fetch bytes, so that at least 56 bits are held.
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

    /// The next `count` bits of those that are held.
    #[inline(always)]
    pub(super) fn held(&mut self, count: u32) -> u32 {
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        bits as u32
    }

    /// The next `count` bits, 32 at most.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        if self.count < count {
            self.fetch();
        }
        self.held(count)
    }

    /// The next `count` bytes from the next byte boundary on, if there are so many.
    pub(super) fn aligned(&mut self, count: usize) -> Option<&'a [u8]> {
        self.give_back();
        self.held(self.count);
        let bytes = self.input.get(..self.end)?.get(self.next..)?.get(..count)?;
        self.next += count;
        Some(bytes)
    }

    /// Hold less than a byte.
    pub(super) fn give_back(&mut self) {
        self.next -= (self.count / 8) as usize;
        self.count %= 8;
        self.held &= (1 << self.count) - 1;
    }

    /// Whether too little is left to read ahead.
    pub(super) fn ends_soon(&self) -> bool {
        self.input.len() < self.next + SOON
    }

    /// The same bits in `tail`, when the input ends soon; nothing if it has ended already.
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

/// What is there of a word, and zeros. It is not given [`Bits`], which are kept in registers.
#[cold]
fn last_word(input: &[u8], next: usize) -> u64 {
    let rest = input.get(next..).unwrap_or_default();
    rest.iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}
