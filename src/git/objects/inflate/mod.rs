//! Inflate for pack entries: a whole zlib stream in memory, whose size is known beforehand, to a buffer
//! that is longer than the result.
//!
//! The stream (RFC 1950) is two bytes, then blocks (RFC 1951), then the Adler-32 of the content. [`stream`]
//! goes from block to block, [`bits`] reads the bits between the symbols, [`header`] reads the code lengths
//! of a block (3.2.7), [`tables`] builds decoding tables from them (3.2.2), and [`symbols`] decodes
//! literals and matches (3.2.3) until the block ends. That last loop takes nearly all of the time and is
//! the only part with `unsafe` code. [`beginning`] decodes the first bytes of a stream without tables.
//!
//! A stream that is damaged or unusual (a preset dictionary, a code with unused codewords) is refused, and
//! the caller tries a slower inflater. After a refusal the buffer may hold anything.

mod beginning;
mod bits;
mod header;
mod stream;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;

pub(super) use beginning::literals;
pub(super) use bits::Refused;
pub(super) use stream::{Inflater, SLACK};

impl Inflater {
    /// Inflate the stream at the start of `input` to `out`, except for the last [`SLACK`] bytes of `out`.
    pub(super) fn whole(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        symbols::with_best_instructions(self, input, out)
    }
}
