//! Inflate, for pack entries: a whole zlib stream in memory, whose size is known beforehand, to a
//! buffer that is longer than that.
//!
//! The stream (RFC 1950) is two bytes, then blocks (RFC 1951), then the Adler-32 of what they hold:
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
mod symbols;
mod tables;

use std::sync::LazyLock;

use adler32furious::adler32;

use bits::Bits;
use symbols::Stop;
use tables::{Codes, FIXED_LENGTHS, Lengths};

/// So many bytes behind the end of the output are overwritten with anything.
pub(super) const SLACK: usize = 320;

/// Why a stream was not inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

/// Inflates streams, one after another.
pub(super) struct Inflater {
    /// The code of the dynamic block at hand.
    dynamic: Codes,
    lengths: Lengths,
    /// The end of an input that ends soon, with zeros behind it to read ahead in.
    tail: [u8; bits::TAIL],
}

/// The code of every fixed block.
static FIXED: LazyLock<Box<Codes>> = LazyLock::new(|| {
    let mut fixed = Box::<Codes>::default();
    let is_sound = fixed.build(&FIXED_LENGTHS);
    debug_assert!(is_sound);
    fixed
});

impl Default for Inflater {
    fn default() -> Self {
        Self {
            dynamic: Codes::default(),
            lengths: Lengths::default(),
            tail: [0; bits::TAIL],
        }
    }
}

impl Inflater {
    /// Inflate the stream at the start of `input` to the first bytes of `out`: all but [`SLACK`].
    pub(super) fn whole(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        symbols::with_best_instructions(self, input, out)
    }

    /// [`Self::whole`], compiled for the instructions of whoever calls it.
    #[inline(always)]
    fn stream(
        &mut self,
        input: &[u8],
        out: &mut [u8],
        decode: impl Fn(&Codes, &mut Bits<'_>, &mut [u8], &mut usize) -> Stop,
    ) -> Result<(), Refused> {
        let size = out.len().checked_sub(SLACK).ok_or(Refused)?;
        let mut bits = Bits::new(zlib_body(input)?);
        let mut tail = Some(&mut self.tail);
        let mut at = 0;
        loop {
            let last = bits.take(1) == 1;
            let codes = match bits.take(2) {
                0 => {
                    let stored = stored(&mut bits)?;
                    // Behind the end there may be bytes of a match already.
                    let end = at + stored.len();
                    let place = out[..size].get_mut(at..end).ok_or(Refused)?;
                    place.copy_from_slice(stored);
                    at = end;
                    if last {
                        break;
                    }
                    continue;
                }
                1 => &*FIXED,
                2 => {
                    header::read(&mut bits, &mut self.lengths)?;
                    if !self.dynamic.build(&self.lengths) {
                        return Err(Refused);
                    }
                    &self.dynamic
                }
                _ => return Err(Refused),
            };
            loop {
                if bits.ends_soon() {
                    let tail = tail.take().ok_or(Refused)?;
                    bits = bits.moved_to(tail).ok_or(Refused)?;
                }
                match decode(codes, &mut bits, out, &mut at) {
                    Stop::EndOfBlock => break,
                    Stop::InputLow => {}
                    Stop::Damage => return Err(Refused),
                }
            }
            if last {
                break;
            }
        }
        let sum = bits.aligned(4).ok_or(Refused)?;
        match at == size && adler32(&out[..size]) == big_endian(sum) {
            true => Ok(()),
            false => Err(Refused),
        }
    }
}

/// What follows the header of a zlib stream (RFC 1950, 2.2).
fn zlib_body(input: &[u8]) -> Result<&[u8], Refused> {
    const DEFLATE: u8 = 8;
    const LARGEST_WINDOW: u8 = 7;
    const DICTIONARY: u8 = 0x20;
    match input {
        [method, flags, body @ ..]
            if u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
                && method & 15 == DEFLATE
                && method >> 4 <= LARGEST_WINDOW
                && flags & DICTIONARY == 0 =>
        {
            Ok(body)
        }
        _ => Err(Refused),
    }
}

/// The bytes of a stored block (3.2.4).
fn stored<'a>(bits: &mut Bits<'a>) -> Result<&'a [u8], Refused> {
    let length = bits.aligned(2).ok_or(Refused)?;
    let complement = bits.aligned(2).ok_or(Refused)?;
    if length
        .iter()
        .zip(complement)
        .any(|(one, other)| one != &!other)
    {
        return Err(Refused);
    }
    let length = usize::from(length[0]) | usize::from(length[1]) << 8;
    bits.aligned(length).ok_or(Refused)
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests;
