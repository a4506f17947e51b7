//! Reads the code lengths of a dynamic block (RFC 1951, 3.2.7), which have a code of their own.
//!
//! Every symbol of that code is decoded without a branch, as a length and a repeat count.

use super::{
    bits::{Bits, Refused},
    tables::{self, LITLENS, Lengths, OFFSETS},
};

/// The longest codeword for a code length, in bits.
const WORD_BITS: u32 = 7;
/// Symbols decoded from one fetch of 56 bits. Each takes a codeword and at most seven repeat bits.
const AT_ONCE: usize = 4;
/// The order in which the lengths of the codewords for code lengths are stored.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// Room for a run of zeros that begins with the last length, and for eight lengths written at once.
const ROOM: usize = WRAP + 8;
/// More than all lengths and such a run.
const WRAP: usize = 512;

/// Repeats the last length. The flag is the sign bit of an entry.
const AGAIN: u32 = 1 << 31;

/// The meanings of code length symbols. As in [`tables`], the lowest bits count the bits after the
/// codeword. The base of the repeat count is in bits 16 to 23, the length from bit 24 on.
const MEANINGS: [u32; 32] = {
    let mut meanings = [0; 32];
    let mut length = 0;
    while length < 16 {
        meanings[length] = (length as u32) << 24 | 1 << 16;
        length += 1;
    }
    meanings[16] = AGAIN | 3 << 16 | 2;
    meanings[17] = 3 << 16 | 3;
    meanings[18] = 11 << 16 | 7;
    meanings
};

/// Read the part of a dynamic block between its type and its symbols.
#[inline(always)]
pub(super) fn read(place: &mut Bits<'_>, lengths: &mut Lengths) -> Result<(), Refused> {
    let mut bits = *place;
    bits.fetch();
    let litlens = 257 + bits.held(5) as usize;
    let offsets = 1 + bits.held(5) as usize;
    let words = 4 + bits.held(4) as usize;
    if litlens > 286 || offsets > 30 {
        return Err(Refused);
    }
    let mut word_lengths = [0; 32];
    for &symbol in &ORDER[..words] {
        word_lengths[symbol] = bits.take(3) as u8;
    }
    let mut table = [0; 1 << WORD_BITS];
    let width = tables::build(&mut table, &word_lengths, &MEANINGS, WORD_BITS).ok_or(Refused)?;
    // Of a run of zeros only the first eight are written, so the buffer must be zero already.
    let mut run = [0; ROOM];
    fill(&mut run, &mut bits, &table, width, litlens + offsets)?;
    *place = bits;
    lengths.litlen.copy_from_slice(&run[..LITLENS]);
    lengths.litlen[litlens..].fill(0);
    lengths.offset.copy_from_slice(&run[litlens..][..OFFSETS]);
    match lengths.litlen[256] {
        // The block has no end-of-block symbol.
        0 => Err(Refused),
        _ => Ok(()),
    }
}

/// Decode `wanted` code lengths to `run`. All other bytes of `run` are zero before and after.
#[inline(always)]
fn fill(
    run: &mut [u8; ROOM],
    bits: &mut Bits<'_>,
    table: &[u32; 1 << WORD_BITS],
    width: u32,
    wanted: usize,
) -> Result<(), Refused> {
    let mask = (1 << width) - 1;
    let entry_at = |held: u64| table[(held & mask) as usize % table.len()];
    let mut at = 0;
    let mut length = 0;
    bits.fetch();
    if entry_at(bits.held) & AGAIN != 0 {
        return Err(Refused);
    }
    'all: loop {
        for _ in 0..AT_ONCE {
            let entry = entry_at(bits.held);
            length = match entry & AGAIN {
                0 => entry >> 24,
                _ => length,
            };
            // A non-zero length is repeated at most six times, and the next length overwrites the excess.
            let eight = u64::from(length) * 0x0101_0101_0101_0101;
            let place = at % WRAP;
            run[place..place + 8].copy_from_slice(&eight.to_ne_bytes());
            at += usize::from((entry >> 16) as u8) + tables::extra(entry, bits.held);
            bits.held(entry & 63);
            if at >= wanted {
                break 'all;
            }
        }
        bits.fetch();
    }
    if at != wanted {
        return Err(Refused);
    }
    run[wanted..wanted + 8].fill(0);
    Ok(())
}
