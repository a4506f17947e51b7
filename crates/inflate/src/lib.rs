//! Inflates a whole zlib stream (RFC 1950) in memory whose size is known beforehand, as an entry of a git pack is. By that it is
//! faster than inflaters that must be able to stop anywhere: no window, no checks for room, wide copies.
//!
//! ```
//! use sluice_inflate::{Inflater, SLACK};
//!
//! // `printf hello | pigz -z`, for one
//! let stream = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15";
//! let mut out = vec![0; 5 + SLACK];
//! Inflater::default().whole(stream, &mut out).expect("a sound stream of five bytes");
//! assert_eq!(&out[..5], b"hello");
//! ```
//!
//! A stream that is damaged, longer or shorter than its buffer, or unusual (a preset dictionary, a code with unused codewords) is
//! [`Refused`], and the caller asks another inflater before it says that a stream is damaged. After a refusal the buffer may hold
//! anything. No stream makes it panic, write outside of the buffer, or run without an end.
//!
//! # How it works
//!
//! The stream is two bytes, then blocks (RFC 1951), then the Adler-32 of the content. `stream` goes from block to block, `bits`
//! reads the bits between the symbols, `header` reads the code lengths of a block (3.2.7), `tables` builds decoding tables from
//! them (3.2.2), and `symbols` decodes literals and matches (3.2.3) until the block ends. That last loop takes nearly all of the
//! time and is the only part with `unsafe` code. `beginning` decodes the first bytes of a stream without tables.

mod beginning;
mod bits;
mod header;
mod stream;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;

pub use beginning::literals;
pub use bits::Refused;
pub use stream::{Inflater, SLACK};

impl Inflater {
    /// Inflate the stream at the start of `input` to `out`, except for the last [`SLACK`] bytes of `out`. Bytes after the stream
    /// are not looked at.
    pub fn whole(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        symbols::with_best_instructions(self, input, out)
    }
}
