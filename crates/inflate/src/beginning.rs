//! The first bytes of a zlib stream, where few are wanted: the sizes at the start of a delta.
//!
//! A decoding table takes longer to build than a few symbols take to decode without one. Here a codeword is found by
//! the numbers of codewords of each length (RFC 1951, 3.2.2). Only literals at the start of a compressed block are
//! decoded. Whatever else a stream begins with is left to a slower inflater.

use std::sync::LazyLock;

use super::{
    bits::{Bits, Refused},
    header,
    stream::zlib_body,
    tables::{FIXED_LENGTHS, LITLENS, LONGEST, Lengths, complete, count, sort},
};

/// The code for literals and lengths, without a table.
struct Code {
    /// The number of codewords of each length.
    counts: [u32; LONGEST + 1],
    /// The symbols in the order of their codewords.
    symbols: [u16; LITLENS],
}

static FIXED: LazyLock<Option<Code>> = LazyLock::new(|| Code::new(&FIXED_LENGTHS));

/// Inflate the literals with which the stream at the start of `input` begins, at most as many as `out` has room for.
/// Returns their number.
pub fn literals(input: &[u8], out: &mut [u8]) -> Result<usize, Refused> {
    let mut bits = Bits::new(zlib_body(input)?);
    bits.take(1);
    let dynamic;
    let code = match bits.take(2) {
        1 => &*FIXED,
        2 => {
            let mut lengths = Lengths::default();
            header::read(&mut bits, &mut lengths)?;
            dynamic = Code::new(&lengths);
            &dynamic
        }
        _ => return Err(Refused),
    };
    if bits.ends_soon() {
        return Err(Refused);
    }
    let code = code.as_ref().ok_or(Refused)?;
    let mut len = 0;
    while let Some(place) = out.get_mut(len)
        && let Some(literal) = code.literal(&mut bits)
    {
        *place = literal;
        len += 1;
    }
    Ok(len)
}

impl Code {
    /// `None` if the lengths form no complete code.
    fn new(lengths: &Lengths) -> Option<Self> {
        let counts = count(&lengths.litlen);
        complete(&counts)?;
        let symbols = sort(&lengths.litlen, &counts);
        Some(Self { counts, symbols })
    }

    /// The next symbol, if it is a literal.
    fn literal(&self, bits: &mut Bits<'_>) -> Option<u8> {
        bits.fetch();
        // The codewords of one length are consecutive numbers. The bits so far are counted from the first of them.
        let (mut word, mut shorter) = (0, 0);
        for &count in &self.counts[1..] {
            word = word << 1 | bits.held(1);
            if word < count {
                let symbol = *self.symbols.get((shorter + word) as usize)?;
                return u8::try_from(symbol).ok();
            }
            word -= count;
            shorter += count;
        }
        None
    }
}
