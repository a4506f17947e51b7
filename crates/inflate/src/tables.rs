//! Tables for decoding Huffman codes (RFC 1951, 3.2.2), built from the lengths of the codewords.
//!
//! A table is indexed by the next bits of the input. An entry gives the symbol at the start of these bits and the
//! number of bits to skip. Codewords that are longer than the index lead to a second table, stored after the first.
//!
//! Fields of an entry, from the lowest bit:
//!
//! ```text
//!  0- 7  bits of the codeword and of the number after it
//!  8-12  bits of the codeword alone
//! 13     END          the block ends here
//! 14     SUBTABLE     the codeword continues: bits 0-7 are the index width of this table, 8-11 of the next
//! 15     RARE         END, SUBTABLE, or without them a symbol that no stream may have
//! 16-30  the literal; the base of the length or offset; or the index of the second table
//! 31     LITERAL
//! ```

/// The number of symbols for literals and lengths, including two that no stream may have.
pub(super) const LITLENS: usize = 288;
/// The number of symbols for offsets, including two that no stream may have.
pub(super) const OFFSETS: usize = 32;

/// The most bits that index the table for literals and lengths.
pub(super) const LITLEN_BITS: u32 = 11;
/// Bits that index the table for offsets.
pub(super) const OFFSET_BITS: u32 = 8;
/// The most entries of the tables, from zlib's `enough.c`: `enough 288 11 15`.
pub(super) const LITLEN_ENTRIES: usize = 2342;
/// The most entries by `enough 32 8 15`.
pub(super) const OFFSET_ENTRIES: usize = 402;

pub(super) const LITERAL: u32 = 1 << 31;
pub(super) const RARE: u32 = 1 << 15;
pub(super) const SUBTABLE: u32 = 1 << 14;
pub(super) const END: u32 = 1 << 13;

/// The longest codeword in bits.
pub(super) const LONGEST: usize = 15;

/// The codeword lengths of a block.
pub(super) struct Lengths {
    pub(super) litlen: [u8; LITLENS],
    pub(super) offset: [u8; OFFSETS],
}

impl Default for Lengths {
    fn default() -> Self {
        FIXED_LENGTHS
    }
}

/// The codeword lengths of a fixed block (3.2.6).
pub(super) const FIXED_LENGTHS: Lengths = {
    let mut litlen = [8; LITLENS];
    let mut symbol = 144;
    while symbol < 280 {
        litlen[symbol] = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    Lengths {
        litlen,
        offset: [5; OFFSETS],
    }
};

/// The meanings of symbols for literals and lengths (3.2.5): entries without codewords.
const LITLEN_MEANINGS: [u32; LITLENS] = {
    let mut meanings = [RARE; LITLENS];
    let mut symbol = 0;
    while symbol < 256 {
        meanings[symbol] = LITERAL | (symbol as u32) << 16;
        symbol += 1;
    }
    meanings[256] = RARE | END;
    let (mut symbol, mut least) = (257, 3);
    while symbol < 285 {
        let bits = if symbol < 265 {
            0
        } else {
            (symbol as u32 - 261) / 4
        };
        meanings[symbol] = least << 16 | bits;
        least += 1 << bits;
        symbol += 1;
    }
    meanings[285] = 258 << 16;
    meanings
};

/// The meanings of symbols for offsets.
const OFFSET_MEANINGS: [u32; OFFSETS] = {
    let mut meanings = [RARE; OFFSETS];
    let (mut symbol, mut least) = (0, 1);
    while symbol < 30 {
        let bits = if symbol < 4 { 0 } else { symbol as u32 / 2 - 1 };
        meanings[symbol] = least << 16 | bits;
        least += 1 << bits;
        symbol += 1;
    }
    meanings
};

/// The codes of a block. Every decoded length is at most 258, whatever the codeword lengths.
pub(super) struct Codes {
    pub(super) litlen: [u32; LITLEN_ENTRIES],
    pub(super) offset: [u32; OFFSET_ENTRIES],
    /// Bits that index `litlen`, at most [`LITLEN_BITS`].
    pub(super) litlen_bits: u32,
}

impl Default for Codes {
    fn default() -> Self {
        Self {
            litlen: [RARE; LITLEN_ENTRIES],
            offset: [RARE; OFFSET_ENTRIES],
            litlen_bits: LITLEN_BITS,
        }
    }
}

impl Codes {
    /// Build the codes with these lengths. False if the lengths form no code.
    #[inline(always)]
    pub(super) fn build(&mut self, lengths: &Lengths) -> bool {
        let litlen = build(
            &mut self.litlen,
            &lengths.litlen,
            &LITLEN_MEANINGS,
            LITLEN_BITS,
        );
        let Some(bits) = litlen else { return false };
        self.litlen_bits = bits;
        let offset = build(
            &mut self.offset,
            &lengths.offset,
            &OFFSET_MEANINGS,
            OFFSET_BITS,
        );
        match offset {
            Some(bits) => repeat(&mut self.offset, 1 << bits, 1 << OFFSET_BITS),
            None => return self.few_offsets(&lengths.offset),
        }
        true
    }

    /// Build an offset code of one codeword of one bit or of no codeword, which streams with hardly any
    /// matches have.
    #[cold]
    fn few_offsets(&mut self, lengths: &[u8; OFFSETS]) -> bool {
        let mut used = lengths
            .iter()
            .enumerate()
            .filter(|(_, length)| **length > 0);
        self.offset[0] = match used.next() {
            Some((symbol, 1)) => OFFSET_MEANINGS[symbol] + codeword(1),
            Some(_) => return false,
            None => RARE,
        };
        self.offset[1] = RARE;
        repeat(&mut self.offset, 2, 1 << OFFSET_BITS);
        used.next().is_none()
    }
}

/// The number after the codeword of `entry`, which is at the start of `held`.
#[inline(always)]
pub(super) fn extra(entry: u32, held: u64) -> usize {
    ((held & ((1 << (entry & 63)) - 1)) >> (entry >> 8 & 63)) as usize
}

/// The part of an entry that describes a codeword of `length` bits.
const fn codeword(length: u32) -> u32 {
    length << 8 | length
}

/// Fill `table` for the complete code with these lengths. Returns the number of bits that index the table:
/// `most`, or fewer if all codewords are shorter. `None` if the code is incomplete.
#[inline(always)]
pub(super) fn build<const ENTRIES: usize, const SYMBOLS: usize>(
    table: &mut [u32; ENTRIES],
    lengths: &[u8; SYMBOLS],
    meanings: &[u32; SYMBOLS],
    most: u32,
) -> Option<u32> {
    let counts = count(lengths);
    let (shortest, longest) = complete(&counts)?;
    let sorted = sort(lengths, &counts);
    let mut sorted = &sorted[..];
    let bits = longest.min(most);
    let mut length = shortest;
    let mut word = 0;
    loop {
        let (these, longer) = sorted.split_at_checked(counts[length as usize] as usize)?;
        sorted = longer;
        for &symbol in these {
            table[reversed(word)] = meanings[usize::from(symbol)] + codeword(length);
            word += 1 << (16 - length);
        }
        if length == bits {
            break;
        }
        // Double the filled part for the next bit.
        repeat(table, 1 << length, 2 << length);
        length += 1;
    }
    if longest > bits {
        let longer = bits + 1..=longest;
        let meanings = sorted.iter().map(|&symbol| meanings[usize::from(symbol)]);
        subtables(table, longer, &counts, word, meanings);
    }
    Some(bits)
}

/// The number of codewords of each length.
#[inline(always)]
pub(super) fn count<const SYMBOLS: usize>(lengths: &[u8; SYMBOLS]) -> [u32; LONGEST + 1] {
    let mut counts = [0; LONGEST + 1];
    for (length, count) in (0..).zip(&mut counts).skip(1) {
        // In 32 lanes, so that the compiler counts in parallel.
        let mut lanes = [0_u8; 32];
        for chunk in lengths.as_chunks::<32>().0 {
            for (lane, &of_symbol) in lanes.iter_mut().zip(chunk) {
                *lane += u8::from(of_symbol == length);
            }
        }
        *count = lanes.iter().map(|&lane| u32::from(lane)).sum();
    }
    counts
}

/// The shortest and the longest codeword, if the code is complete.
#[inline(always)]
pub(super) fn complete(counts: &[u32; LONGEST + 1]) -> Option<(u32, u32)> {
    let (mut space, mut lengths) = (0, 0_u32);
    for (length, &count) in counts.iter().enumerate().skip(1) {
        space += count << (LONGEST - length);
        lengths |= u32::from(count > 0) << length;
    }
    let longest = lengths.checked_ilog2()?;
    (space == 1 << LONGEST).then_some((lengths.trailing_zeros(), longest))
}

/// The symbols that have codewords, sorted by length.
#[inline(always)]
pub(super) fn sort<const SYMBOLS: usize>(
    lengths: &[u8; SYMBOLS],
    counts: &[u32; LONGEST + 1],
) -> [u16; SYMBOLS] {
    let mut places = [0; LONGEST + 1];
    for length in 2..=LONGEST {
        places[length] = places[length - 1] + counts[length - 1];
    }
    let mut sorted = [0; SYMBOLS];
    for (chunk, first) in lengths.as_chunks::<32>().0.iter().zip((0..).step_by(32)) {
        let mut used = used(chunk);
        while used != 0 {
            let symbol = first + used.trailing_zeros() as usize;
            used &= used - 1;
            let place = &mut places[usize::from(lengths[symbol]) % (LONGEST + 1)];
            sorted[*place as usize] = symbol as u16;
            *place += 1;
        }
    }
    sorted
}

/// A bit mask of the lengths that are not zero.
#[inline(always)]
fn used(lengths: &[u8; 32]) -> u32 {
    let mut used = 0;
    for (eight, shift) in lengths.as_chunks::<8>().0.iter().zip((0..).step_by(8)) {
        // No length has the highest bit of its byte, so no sum carries into the next byte.
        let marks =
            (u64::from_le_bytes(*eight) + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
        let gathered = marks.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        used |= (gathered as u32) << shift;
    }
    used
}

/// Repeat the first `from` entries of `table`, a power of two, until `to` entries are filled.
#[inline(always)]
fn repeat<const ENTRIES: usize>(table: &mut [u32; ENTRIES], mut from: usize, to: usize) {
    while from < to {
        let (first, again) = table.split_at_mut(from);
        let (first, again) = (first.as_chunks::<8>(), again.as_chunks_mut::<8>());
        for (one, other) in first.0.iter().zip(again.0.iter_mut()) {
            *other = *one;
        }
        if from < 8 {
            for entry in 0..from {
                table[from + entry] = table[entry];
            }
        }
        from *= 2;
    }
}

/// The index for the codeword whose first bit is bit 15 of `word`.
#[inline(always)]
fn reversed(word: u32) -> usize {
    let [low, high] = (word as u16).to_le_bytes();
    usize::from(REVERSED[usize::from(low)]) << 8 | usize::from(REVERSED[usize::from(high)])
}

/// All bytes with their bits reversed.
static REVERSED: [u8; 256] = {
    let mut reversed = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        reversed[byte] = (byte as u8).reverse_bits();
        byte += 1;
    }
    reversed
};

/// Fill the second tables, stored after the first.
fn subtables(
    table: &mut [u32],
    longer: std::ops::RangeInclusive<u32>,
    counts: &[u32; LONGEST + 1],
    mut word: u32,
    mut meanings: impl Iterator<Item = u32>,
) {
    let bits = longer.start() - 1;
    let (mut prefix, mut start, mut end) = (usize::MAX, 0, 1 << bits);
    for length in longer {
        for left in (1..=counts[length as usize]).rev() {
            let index = reversed(word);
            if index % (1 << bits) != prefix {
                prefix = index % (1 << bits);
                start = end;
                let more = subtable_bits(length, bits, left, counts);
                end += 1 << more;
                table[prefix] = (start as u32) << 16 | RARE | SUBTABLE | more << 8 | bits;
            }
            let Some(meaning) = meanings.next() else {
                return;
            };
            let entry = meaning + codeword(length - bits);
            for place in (start + (index >> bits)..end).step_by(1 << (length - bits)) {
                table[place] = entry;
            }
            word += 1 << (16 - length);
        }
    }
}

/// The number of bits that index the second table that begins with the first of `left` codewords of
/// `length`: as few as the following codewords fill.
fn subtable_bits(length: u32, bits: u32, left: u32, counts: &[u32; LONGEST + 1]) -> u32 {
    let (mut more, mut filled) = (length - bits, left);
    while filled < 1 << more {
        more += 1;
        filled = (filled << 1) + counts[(bits + more) as usize];
    }
    more
}
