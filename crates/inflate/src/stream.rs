//! Inflates a zlib stream block by block. The caller supplies the decoder of the symbols.

use std::sync::LazyLock;

use adler32furious::adler32;

use super::{
    bits::{self, Bits, Refused},
    header,
    tables::{Codes, FIXED_LENGTHS, Lengths},
};

/// The number of bytes at the end of the output buffer that are overwritten with arbitrary bytes.
pub const SLACK: usize = 320;

/// Why the decoding of symbols stopped.
pub(super) enum Stop {
    EndOfBlock,
    /// The block continues, but the input may end within it.
    InputLow,
    Damage,
}

/// Inflates streams, one after another.
pub struct Inflater {
    /// The code of the current dynamic block.
    dynamic: Codes,
    lengths: Lengths,
    /// A copy of the end of the input, followed by zeros to read ahead in.
    tail: [u8; bits::TAIL],
}

/// The code of all fixed blocks.
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
    /// Inflate the stream at the start of `input` to `out`, except for the last [`SLACK`] bytes of `out`.
    /// Inlined, so that the code is compiled for the instruction set of the caller, like `decode`.
    #[inline(always)]
    pub(super) fn stream(
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
                    // A match may have written beyond the end of the content.
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
        if at == size && adler32(&out[..size]) == big_endian(sum) {
            Ok(())
        } else {
            Err(Refused)
        }
    }
}

/// The part of a zlib stream after its header (RFC 1950, 2.2).
pub(super) fn zlib_body(input: &[u8]) -> Result<&[u8], Refused> {
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
