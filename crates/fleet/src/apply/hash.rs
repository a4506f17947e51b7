//! Hashes of content, by which changed files are found: XXH3 with 128 bits. They find accidents and meddling, not somebody
//! who may write the list of the hashes as well.

use std::fmt;

use twox_hash::XxHash3_128;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContentHash(u128);

impl ContentHash {
    pub(super) fn of(content: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(content))
    }

    /// Parse what [`fmt::Display`] writes.
    pub(super) fn parse(digits: &str) -> Option<Self> {
        u128::from_str_radix(digits, 16).ok().map(Self)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The hash of content that comes in pieces.
#[derive(Default)]
pub(super) struct Hasher(XxHash3_128);

impl Hasher {
    pub(super) fn update(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    pub(super) fn finish(&self) -> ContentHash {
        ContentHash(self.0.finish_128())
    }
}
