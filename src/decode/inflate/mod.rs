//! Inflate, for pack entries: a whole zlib stream in memory, whose size is known beforehand, to a
//! buffer that is longer than that.
//!
//! The stream (RFC 1950) is two bytes, then blocks (RFC 1951), then the Adler-32 of what they hold:
//! [`stream`] goes from block to block,
//! [`bits`] reads the bits between the symbols, [`header`] the code lengths of a block (3.2.7),
//! [`tables`] turns these into tables to decode with (3.2.2), and [`symbols`] decodes literals and
//! matches (3.2.3) until the block ends. That last loop is nearly all of the time; it is the only
//! part with `unsafe` code.
//!
//! It never guesses: a stream that is damaged, or only unusual (a preset dictionary, a code with
//! unused codewords), is refused, and whoever asked has a slower inflater look at it. By then the
//! buffer may hold anything.

mod bits;
mod header;
mod stream;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;

pub(super) use bits::Refused;
pub(super) use stream::{Inflater, SLACK};

impl Inflater {
    /// Inflate the stream at the start of `input` to the first bytes of `out`: all but [`SLACK`].
    pub(super) fn whole(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        symbols::with_best_instructions(self, input, out)
    }
}
