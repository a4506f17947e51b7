//! The first bytes of a zlib stream, without tables: a table takes more time than a few symbols.
//!
//! Codewords are decoded bit by bit by their order alone (RFC 1951, 3.2.2). Only literals are decoded: a reader of the
//! first bytes turns to a whole inflater where a match, the end of the block or damage comes first.

use super::{
    bits::Bits,
    header,
    stream::{stored, zlib_body},
    tables::{FIXED_LENGTHS, LITLENS, LONGEST, Lengths},
};

/// Symbols below this number are literals.
const LITERALS: usize = 256;

/// Inflates the literals at the start of the stream `input` to `out`, as far as there is room. Returns their number.
pub(in crate::decode) fn first_literals(input: &[u8], out: &mut [u8]) -> usize {
    let Ok(body) = zlib_body(input) else {
        return 0;
    };
    let mut bits = Bits::new(body);
    let mut lengths = FIXED_LENGTHS;
    let _is_last = bits.take(1);
    match bits.take(2) {
        0 => {
            let stored = stored(&mut bits).unwrap_or_default();
            let len = stored.len().min(out.len());
            out[..len].copy_from_slice(&stored[..len]);
            return len;
        }
        1 => {}
        2 if header::read(&mut bits, &mut lengths).is_ok() => {}
        _ => return 0,
    }
    let code = Code::new(&lengths);
    let mut len = 0;
    while let Some(place) = out.get_mut(len)
        && let Some(literal) = code.literal(&mut bits)
    {
        *place = literal;
        len += 1;
    }
    len
}

/// A code as its symbols in order: by length, then by number.
struct Code {
    /// The number of codewords of each length.
    counts: [u16; LONGEST + 1],
    symbols: [u16; LITLENS],
}

impl Code {
    fn new(lengths: &Lengths) -> Self {
        let mut counts = [0; LONGEST + 1];
        for &length in &lengths.litlen {
            counts[usize::from(length)] += 1;
        }
        counts[0] = 0;
        let mut ends = [0; LONGEST + 1];
        for length in 1..LONGEST {
            ends[length + 1] = ends[length] + counts[length];
        }
        let mut symbols = [0; LITLENS];
        for (symbol, &length) in (0..).zip(&lengths.litlen) {
            if length > 0 {
                let end = &mut ends[usize::from(length)];
                symbols[usize::from(*end)] = symbol;
                *end += 1;
            }
        }
        Self { counts, symbols }
    }

    /// Decode the next symbol, if the symbol is a literal.
    fn literal(&self, bits: &mut Bits<'_>) -> Option<u8> {
        // The code of the bits so far, the first code of their length, and the index of its symbol.
        let (mut code, mut first, mut index) = (0, 0, 0);
        for &count in &self.counts[1..] {
            let count = u32::from(count);
            code |= bits.take(1);
            if code < first + count {
                let symbol = usize::from(*self.symbols.get((index + code - first) as usize)?);
                return (symbol < LITERALS).then_some(symbol as u8);
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}
