//! Decodes the symbols of a block (RFC 1951, 3.2.3) to literals and copied bytes: one of eight modules with
//! `unsafe` code.
//!
//! The time goes into a chain: the bit buffer gives an index, the table an entry, the entry the shift that
//! makes the next index. This loop, otherwise that of libdeflate, shortens the chain in two ways. The
//! buffer is shifted so that its masked bits are the offset of an entry in bytes, which the processor adds
//! to an address a cycle sooner than an index. And both tables are read before the symbol is known to be a
//! literal or a match: that branch is mispredicted every third time, and by then the right entry is loaded.
//! Both ways need addresses in place of slices, and so do copies that overrun a match. sirocco, in safe
//! Rust after the same model, takes 13 to 15 % longer on packs. Nothing outside the given slices is ever
//! read or written.
#![allow(unsafe_code)]

mod copy;

use std::marker::PhantomData;

use super::{
    bits::{Bits, Refused},
    stream::{Inflater, SLACK, Stop},
    tables::{self, Codes, END, LITERAL, OFFSET_BITS, RARE, SUBTABLE},
};
use copy::{FIRST, MORE, copy};

/// An entry has four bytes, so the bit buffer begins with this many used bits.
const SCALE: u32 = 2;
/// The least number of bits after a fetch.
const FETCHED: u32 = 56 - SCALE;
/// The most bits of a codeword for an offset within the first table, of the number after it, and of the
/// index of the next literal or length.
const OFFSET_AND_NEXT: u32 = OFFSET_BITS + 13 + tables::LITLEN_BITS;
/// Bytes of input that a turn may read beyond those that its output accounts for.
const AHEAD: usize = 64;
/// A turn writes at most two literals and a match of 258 bytes, whose copy overruns it.
const _: () = assert!(2 + FIRST + (258 - FIRST).next_multiple_of(MORE) <= SLACK);
/// One fetch suffices for two literals, a length, and the index of the offset's entry.
const _: () = assert!(2 * tables::LITLEN_BITS + 15 + 5 + OFFSET_BITS <= FETCHED);

/// [`Inflater::stream`], with instructions for bit fields and wide copies if the processor has them.
pub(super) fn with_best_instructions(
    inflater: &mut Inflater,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), Refused> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has all four features.
        return unsafe { modern::stream(inflater, input, out) };
    }
    with_any_instructions(inflater, input, out)
}

/// [`Inflater::stream`], with the instructions that every processor has.
pub(super) fn with_any_instructions(
    inflater: &mut Inflater,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), Refused> {
    inflater.stream(input, out, |codes, bits, out, at| {
        // SAFETY: `decode` upholds the contract of `turns`.
        decode(bits, out, at, |place, start, full| unsafe {
            turns::<false>(codes, place, start, full)
        })
    })
}

#[cfg(target_arch = "x86_64")]
mod modern {
    use super::*;

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn stream(
        inflater: &mut Inflater,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), Refused> {
        inflater.stream(input, out, |codes, bits, out, at| {
            // SAFETY: `decode` upholds the contract of `turns`.
            decode(bits, out, at, |place, start, full| unsafe {
                turns(codes, place, start, full)
            })
        })
    }

    // A separate function has all registers for itself.
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn turns(
        codes: &Codes,
        place: &mut StreamPosition,
        start: *mut u8,
        full: *mut u8,
    ) -> Option<Stop> {
        // SAFETY: the caller upholds the contract.
        unsafe { super::turns::<true>(codes, place, start, full) }
    }
}

/// Decode from `bits` to `out` until the block ends, with `turns`, compiled for an instruction set. `out`
/// holds `at` bytes, and its last [`SLACK`] bytes are no output.
#[inline(always)]
fn decode(
    bits: &mut Bits<'_>,
    out: &mut [u8],
    at: &mut usize,
    turns: impl Fn(&mut StreamPosition, *mut u8, *mut u8) -> Option<Stop>,
) -> Stop {
    let Some(size) = out.len().checked_sub(SLACK) else {
        return Stop::Damage;
    };
    bits.give_back();
    let left = bits.input.len().saturating_sub(bits.next);
    let start = out.as_mut_ptr();
    // No buffer lies so low in memory that subtracting a distance would wrap around.
    if left < 2 * AHEAD || *at > size || start.addr() < 1 << 16 {
        return Stop::Damage;
    }
    // Each byte of output takes at most two bytes of input: a literal up to 15 bits, a match of three bytes
    // or more up to 48. So `AHEAD` bytes of input are left as long as the output ends within `most`.
    let most = (size - *at).min((left - AHEAD) / 2);
    let input = bits.input.as_ptr();
    let mut place = StreamPosition {
        held: bits.held << SCALE,
        count: bits.count + SCALE,
        next: input.wrapping_add(bits.next),
        out: start.wrapping_add(*at),
        entry: 0,
    };
    let stop = turns(&mut place, start, start.wrapping_add(*at + most));
    let all = *at + most == size;
    bits.held = place.held >> SCALE;
    bits.count = (place.count & 63) - SCALE;
    bits.next = place.next.addr() - input.addr();
    *at = place.out.addr() - start.addr();
    stop.unwrap_or(if all { Stop::Damage } else { Stop::InputLow })
}

/// Decode from `place` until the block ends, or until the output passes `full`.
///
/// # Safety
///
/// `out` is neither before `start` nor after `full`, and the [`SLACK`] bytes after `full` belong
/// to the same slice. From `next` on there are [`AHEAD`] bytes, and two more for each byte from `out` to
/// `full`. `start` is not among the first 64 KiB of memory.
#[inline(always)]
unsafe fn turns<const MODERN: bool>(
    codes: &Codes,
    place: &mut StreamPosition,
    start: *mut u8,
    full: *mut u8,
) -> Option<Stop> {
    let tables = Tables::new(codes);
    let mut here = *place;
    // SAFETY: there are `AHEAD` bytes.
    unsafe { here.fetch() };
    here.entry = tables.litlen(here.held);
    let stop = loop {
        if here.out > full {
            break None;
        }
        // SAFETY: `out` is not after `full`, and the input suffices for the rest of the output.
        if let Some(stop) = unsafe { turn::<MODERN>(&tables, &mut here, start) } {
            break Some(stop);
        }
    };
    *place = here;
    stop
}

/// A position in the input and in the output.
#[derive(Clone, Copy)]
struct StreamPosition {
    /// The fetched bits, above [`SCALE`] others.
    held: u64,
    /// The number of bits in `held`. Only the lowest byte counts, so that whole entries can be subtracted.
    count: u32,
    next: *const u8,
    out: *mut u8,
    /// The entry of the symbol at the start of `held`.
    entry: u32,
}

impl StreamPosition {
    /// Fetch bytes until at least [`FETCHED`] bits are held.
    ///
    /// # Safety
    ///
    /// There are eight bytes at `next`.
    #[inline(always)]
    unsafe fn fetch(&mut self) {
        // SAFETY: the caller upholds the contract.
        let word = unsafe { self.next.cast::<u64>().read_unaligned() };
        self.held |= u64::from_le(word) << (self.count & 63);
        self.next = self.next.wrapping_add(7 - (self.count >> 3 & 7) as usize);
        self.count |= 56;
    }

    /// Skip the codeword of `entry` and the number after it.
    #[inline(always)]
    fn consume(&mut self, entry: u32) {
        self.held >>= entry & 63;
        self.count = self.count.wrapping_sub(entry);
    }

    /// # Safety
    /// There is a byte at `out`.
    #[inline(always)]
    unsafe fn literal(&mut self, entry: u32) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.out.write((entry >> 16) as u8) };
        self.out = self.out.wrapping_add(1);
    }
}

/// The addresses of the tables of [`Codes`].
struct Tables<'a> {
    litlen: *const u32,
    offset: *const u32,
    litlen_mask: u64,
    codes: PhantomData<&'a Codes>,
}

impl<'a> Tables<'a> {
    #[inline(always)]
    fn new(codes: &'a Codes) -> Self {
        let litlen_bits = codes.litlen_bits.min(tables::LITLEN_BITS);
        Self {
            codes: PhantomData,
            litlen: apart(codes.litlen.as_ptr()),
            offset: apart(codes.offset.as_ptr()),
            litlen_mask: ((1 << litlen_bits) - 1) << SCALE,
        }
    }

    /// The entry of the literal or length at the start of `held`.
    #[inline(always)]
    fn litlen(&self, held: u64) -> u32 {
        // SAFETY: the table has an entry for each string of `LITLEN_BITS` bits.
        unsafe {
            self.litlen
                .byte_add((held & self.litlen_mask) as usize)
                .read()
        }
    }

    /// The entry of the offset at the start of `held`.
    #[inline(always)]
    fn offset(&self, held: u64) -> u32 {
        const MASK: u64 = ((1 << OFFSET_BITS) - 1) << SCALE;
        // SAFETY: the table has an entry for each string of `OFFSET_BITS` bits.
        unsafe { self.offset.byte_add((held & MASK) as usize).read() }
    }

    /// The entry of a long literal or length in the second table, to which `entry` leads.
    #[inline(always)]
    fn second_litlen(&self, entry: u32, held: u64) -> u32 {
        let index = second(entry, held).min(tables::LITLEN_ENTRIES - 1);
        // SAFETY: the index is clamped to the table.
        unsafe { self.litlen.add(index).read() }
    }

    /// The entry of a long offset in the second table, to which `entry` leads.
    #[inline(always)]
    fn second_offset(&self, entry: u32, held: u64) -> u32 {
        let index = second(entry, held).min(tables::OFFSET_ENTRIES - 1);
        // SAFETY: the index is clamped to the table.
        unsafe { self.offset.add(index).read() }
    }
}

/// The index of the symbol at the start of `held` in the second table, to which `entry` leads.
#[inline(always)]
fn second(entry: u32, held: u64) -> usize {
    (entry >> 16) as usize + (held >> SCALE) as usize % (1 << (entry >> 8 & 15))
}

/// The number at the start of `held`, whose code is `entry`.
#[inline(always)]
fn number<const MODERN: bool>(entry: u32, held: u64) -> usize {
    let held = held >> SCALE;
    let extra = tables::extra(entry, held);
    // The same value, but here the compiler does not mask the number of bits.
    #[cfg(target_arch = "x86_64")]
    let extra = if MODERN {
        // SAFETY: a modern processor has the instruction.
        unsafe { std::arch::x86_64::_bzhi_u64(held, entry) as usize >> (entry >> 8 & 63) }
    } else {
        extra
    };
    (entry >> 16) as usize + extra
}

/// Decode one match with up to two literals before it, or up to three literals, or the end of the block.
///
/// # Safety
///
/// From `out` on, [`SLACK`] bytes can be written. All bytes from `start` to `out` can be read, and
/// so can [`AHEAD`] bytes from `next` on.
#[inline(always)]
unsafe fn turn<const MODERN: bool>(
    tables: &Tables<'_>,
    place: &mut StreamPosition,
    start: *mut u8,
) -> Option<Stop> {
    let mut entry = place.entry;
    let mut held = place.held;
    place.consume(entry);
    let mut offset = early(tables.offset(place.held));
    let mut next = early(tables.litlen(place.held));
    if entry & LITERAL != 0 {
        // SAFETY: the first of `SLACK` bytes.
        unsafe { place.literal(entry) };
        (entry, held) = (next, place.held);
        place.consume(entry);
        offset = early(tables.offset(place.held));
        next = early(tables.litlen(place.held));
        if entry & LITERAL != 0 {
            // SAFETY: the second of `SLACK` bytes.
            unsafe { place.literal(entry) };
            (entry, held) = (next, place.held);
            place.consume(entry);
            offset = early(tables.offset(place.held));
            next = early(tables.litlen(place.held));
            if entry & LITERAL != 0 {
                place.entry = next;
                // SAFETY: the third of `SLACK` bytes; a turn fetches at most three times, seven bytes each,
                // of `AHEAD`.
                unsafe {
                    place.literal(entry);
                    place.fetch();
                }
                return None;
            }
        }
    }
    if entry & RARE != 0 {
        if entry & SUBTABLE != 0 {
            entry = tables.second_litlen(entry, place.held);
            held = place.held;
            place.consume(entry);
            if entry & LITERAL != 0 {
                // SAFETY: at most the third of `SLACK` bytes; one of at most three fetches.
                unsafe {
                    place.literal(entry);
                    place.fetch();
                }
                place.entry = tables.litlen(place.held);
                return None;
            }
            offset = tables.offset(place.held);
        }
        if entry & RARE != 0 {
            return Some(if entry & END != 0 {
                Stop::EndOfBlock
            } else {
                Stop::Damage
            });
        }
    }
    let length = number::<MODERN>(entry, held);
    if offset & RARE != 0 {
        if offset & SUBTABLE == 0 {
            return Some(Stop::Damage);
        }
        // SAFETY: one of at most three fetches.
        unsafe { place.fetch() };
        place.consume(OFFSET_BITS);
        offset = tables.second_offset(offset, place.held);
        if offset & RARE != 0 {
            return Some(Stop::Damage);
        }
    } else if (place.count as u8) < (SCALE + OFFSET_AND_NEXT) as u8 {
        // SAFETY: one of at most three fetches.
        unsafe { place.fetch() };
    }
    let held = place.held;
    place.consume(offset);
    place.entry = tables.litlen(place.held);
    let distance = number::<MODERN>(offset, held);
    let from = place.out.wrapping_sub(distance);
    if from < start {
        return Some(Stop::Damage);
    }
    // SAFETY: the last of at most three fetches; the match of at most 258 bytes begins within the first
    // three of `SLACK` bytes.
    unsafe {
        place.fetch();
        copy::<MODERN>(from, place.out, distance, length);
    }
    place.out = place.out.wrapping_add(length);
    None
}

/// Make the compiler load `entry` at this point, and not later on the path that uses it.
#[inline(always)]
fn early(entry: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    let entry = {
        let mut entry = entry;
        // SAFETY: the assembly has no instruction.
        unsafe {
            std::arch::asm!("/* {0:e} */", inout(reg) entry, options(nomem, nostack, preserves_flags))
        };
        entry
    };
    entry
}

/// Make the compiler keep this address in a register: an address with a constant added costs another cycle.
#[inline(always)]
fn apart(table: *const u32) -> *const u32 {
    #[cfg(target_arch = "x86_64")]
    let table = {
        let mut table = table;
        // SAFETY: the assembly has no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) table, options(readonly, nostack, preserves_flags))
        };
        table
    };
    table
}
