//! Reads text in words, to compare several bytes at once.

use super::level::MAX_MATCH;

/// The number of equal bytes at the start of two words with this `difference`.
#[inline(always)]
pub(super) fn agreement(difference: u64) -> usize {
    difference.trailing_zeros() as usize / 8
}

/// The eight bytes at `at` as a number, the first byte lowest.
#[inline(always)]
pub(super) fn word(text: &[u8], at: usize) -> u64 {
    let bytes = text[at..at + 8].try_into();
    u64::from_le_bytes(bytes.unwrap_or_default())
}

/// The four bytes at `at` as a number.
#[inline(always)]
pub(super) fn half(text: &[u8], at: usize) -> u32 {
    let bytes = text[at..at + 4].try_into();
    u32::from_le_bytes(bytes.unwrap_or_default())
}

/// The three bytes at `at` as a number.
#[inline(always)]
pub(super) fn triple(text: &[u8], at: usize) -> u64 {
    let bytes = [text[at], text[at + 1], text[at + 2], 0, 0, 0, 0, 0];
    u64::from_le_bytes(bytes)
}

/// The number of equal bytes, up to the longest match. Both positions must be followed by that many bytes.
#[inline(always)]
pub(super) fn common(text: &[u8], a: usize, b: usize) -> usize {
    let (x, y) = (&text[a..a + MAX_MATCH], &text[b..b + MAX_MATCH]);
    for at in (0..256).step_by(8) {
        let difference = word(x, at) ^ word(y, at);
        if difference != 0 {
            return at + agreement(difference);
        }
    }
    let rest = x[256..].iter().zip(&y[256..]);
    256 + rest.take_while(|(x, y)| x == y).count()
}
