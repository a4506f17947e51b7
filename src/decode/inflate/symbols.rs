//! The symbols of a block (RFC 1951, 3.2.3), to literals and copied bytes: one of three modules with
//! `unsafe` code.
//!
//! The time goes into a chain: a bit buffer gives an index, the table an entry, the entry the shift
//! that makes the next index. So this loop, libdeflate's otherwise, does what shortens it. The
//! buffer is kept shifted so that its masked bits are the offset of an entry in bytes, which the
//! processor adds to an address a cycle sooner than an index. And both tables are asked before it is
//! known whether a symbol is a literal or a match: that branch is guessed wrong every third time, and
//! then the right answer is there already. Both need addresses in place of slices, and so do copies
//! that overrun a match; sirocco, in safe Rust after the same model, takes 13 to 15 % longer on
//! packs. Nothing outside the slices that it is given is ever read or written.
#![allow(unsafe_code)]

mod copy;

use std::marker::PhantomData;

use super::{
    bits::{Bits, Refused},
    stream::{Inflater, SLACK, Stop},
    tables::{self, Codes, END, LITERAL, OFFSET_BITS, RARE, SUBTABLE},
};
use copy::{FIRST, MORE, copy};

/// An entry has four bytes: the bit buffer begins with so many bits that were used already.
const SCALE: u32 = 2;
/// Bits that are at least there after a fetch.
const FETCHED: u32 = 56 - SCALE;
/// The most bits of a codeword for an offset within the first table, the number behind it, and the
/// index of the next literal or length.
const OFFSET_AND_NEXT: u32 = OFFSET_BITS + 13 + tables::LITLEN_BITS;
/// Input that a turn may look at beyond what its output accounts for.
const AHEAD: usize = 64;
/// A turn writes two literals and a match of 258 bytes at most, and the copy of that overruns it.
const _: () = assert!(2 + FIRST + (258 - FIRST).next_multiple_of(MORE) <= SLACK);
/// Two literals and a length are decoded from one fetch, and the offset's entry is found.
const _: () = assert!(2 * tables::LITLEN_BITS + 15 + 5 + OFFSET_BITS <= FETCHED);

/// [`Inflater::stream`], with the instructions for bit fields and wide copies where there are some.
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
        // SAFETY: the processor has them all.
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
        // SAFETY: `decode` gives what `turns` asks for.
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
            // SAFETY: `decode` gives what `turns` asks for.
            decode(bits, out, at, |place, start, full| unsafe {
                turns(codes, place, start, full)
            })
        })
    }

    // A function of its own, with all registers for itself.
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn turns(
        codes: &Codes,
        place: &mut Place,
        start: *mut u8,
        full: *mut u8,
    ) -> Option<Stop> {
        // SAFETY: the caller's.
        unsafe { super::turns::<true>(codes, place, start, full) }
    }
}

/// Decode from `bits` to `out`, of which `at` bytes are there and the last [`SLACK`] do not count,
/// until the block ends; with [`turns`], compiled for somebody.
#[inline(always)]
fn decode(
    bits: &mut Bits<'_>,
    out: &mut [u8],
    at: &mut usize,
    turns: impl Fn(&mut Place, *mut u8, *mut u8) -> Option<Stop>,
) -> Stop {
    let Some(size) = out.len().checked_sub(SLACK) else {
        return Stop::Damage;
    };
    bits.give_back();
    let left = bits.input.len().saturating_sub(bits.next);
    let start = out.as_mut_ptr();
    // Nothing lies so low in memory that a distance would lead to below its first byte.
    if left < 2 * AHEAD || *at > size || start.addr() < 1 << 16 {
        return Stop::Damage;
    }
    // Each byte of output takes two bytes of input at most: a literal up to 15 bits, a match of three
    // bytes or more up to 48. So `AHEAD` bytes are left of the input wherever up to here is written.
    let most = (size - *at).min((left - AHEAD) / 2);
    let input = bits.input.as_ptr();
    let mut place = Place {
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

/// Decode from `place` until the block ends, or more than up to `full` is written.
///
/// # Safety
/// `out` is neither before `start` nor behind `full`, and [`SLACK`] bytes behind that are of the same
/// slice. From `next` on there are [`AHEAD`] bytes, and two more for each byte from `out` to `full`.
/// `start` is not among the first 64 KiB of memory.
#[inline(always)]
unsafe fn turns<const MODERN: bool>(
    codes: &Codes,
    place: &mut Place,
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
        // SAFETY: `out` is not behind `full`, and so much input is left for what is not written yet.
        if let Some(stop) = unsafe { turn::<MODERN>(&tables, &mut here, start) } {
            break Some(stop);
        }
    };
    *place = here;
    stop
}

/// A place in the input and in the output.
#[derive(Clone, Copy)]
struct Place {
    /// Bits fetched, behind [`SCALE`] others.
    held: u64,
    /// How many bits that is. Only the lowest byte counts, so that whole entries can be subtracted.
    count: u32,
    next: *const u8,
    out: *mut u8,
    /// What `held` begins with.
    entry: u32,
}

impl Place {
    /// Hold [`FETCHED`] bits or more.
    ///
    /// # Safety
    /// There are eight bytes at `next`.
    #[inline(always)]
    unsafe fn fetch(&mut self) {
        // SAFETY: the caller's.
        let word = unsafe { self.next.cast::<u64>().read_unaligned() };
        self.held |= u64::from_le(word) << (self.count & 63);
        self.next = self.next.wrapping_add(7 - (self.count >> 3 & 7) as usize);
        self.count |= 56;
    }

    /// Go on by the codeword of `entry` and the number behind it.
    #[inline(always)]
    fn consume(&mut self, entry: u32) {
        self.held >>= entry & 63;
        self.count = self.count.wrapping_sub(entry);
    }

    /// # Safety
    /// There is a byte at `out`.
    #[inline(always)]
    unsafe fn literal(&mut self, entry: u32) {
        // SAFETY: the caller's.
        unsafe { self.out.write((entry >> 16) as u8) };
        self.out = self.out.wrapping_add(1);
    }
}

/// The tables of [`Codes`], by address.
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

    /// The entry of the literal or length that `held` begins with.
    #[inline(always)]
    fn litlen(&self, held: u64) -> u32 {
        // SAFETY: the table has an entry for each string of `LITLEN_BITS` bits.
        unsafe {
            self.litlen
                .byte_add((held & self.litlen_mask) as usize)
                .read()
        }
    }

    /// The entry of the offset that `held` begins with.
    #[inline(always)]
    fn offset(&self, held: u64) -> u32 {
        const MASK: u64 = ((1 << OFFSET_BITS) - 1) << SCALE;
        // SAFETY: the table has an entry for each string of `OFFSET_BITS` bits.
        unsafe { self.offset.byte_add((held & MASK) as usize).read() }
    }

    /// The entry in the second table that `entry`, for a literal or length, leads to.
    #[inline(always)]
    fn second_litlen(&self, entry: u32, held: u64) -> u32 {
        let index = second(entry, held).min(tables::LITLEN_ENTRIES - 1);
        // SAFETY: the table has so many entries.
        unsafe { self.litlen.add(index).read() }
    }

    /// The same for an offset.
    #[inline(always)]
    fn second_offset(&self, entry: u32, held: u64) -> u32 {
        let index = second(entry, held).min(tables::OFFSET_ENTRIES - 1);
        // SAFETY: the table has so many entries.
        unsafe { self.offset.add(index).read() }
    }
}

/// Where in the tables what `held` goes on with is, if `entry` leads to a second one.
#[inline(always)]
fn second(entry: u32, held: u64) -> usize {
    (entry >> 16) as usize + (held >> SCALE) as usize % (1 << (entry >> 8 & 15))
}

/// The number that `entry` means, with which `held` begins.
#[inline(always)]
fn number<const MODERN: bool>(entry: u32, held: u64) -> usize {
    let held = held >> SCALE;
    let extra = tables::extra(entry, held);
    // The same, but the compiler would mask the number of bits in between.
    #[cfg(target_arch = "x86_64")]
    let extra = match MODERN {
        // SAFETY: a modern processor has it.
        true => unsafe { std::arch::x86_64::_bzhi_u64(held, entry) as usize >> (entry >> 8 & 63) },
        false => extra,
    };
    (entry >> 16) as usize + extra
}

/// One match and up to two literals before it, or up to three literals; or the end.
///
/// # Safety
/// From `out` on, [`SLACK`] bytes can be written, from `start` to there all can be read, and so can
/// [`AHEAD`] bytes from `next` on.
#[inline(always)]
unsafe fn turn<const MODERN: bool>(
    tables: &Tables<'_>,
    place: &mut Place,
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
            // SAFETY: the second.
            unsafe { place.literal(entry) };
            (entry, held) = (next, place.held);
            place.consume(entry);
            offset = early(tables.offset(place.held));
            next = early(tables.litlen(place.held));
            if entry & LITERAL != 0 {
                place.entry = next;
                // SAFETY: the third; and a turn fetches three times at most, by seven bytes, of `AHEAD`.
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
                // SAFETY: the third at most, as before.
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
        // SAFETY: it is one of three.
        unsafe { place.fetch() };
        place.consume(OFFSET_BITS);
        offset = tables.second_offset(offset, place.held);
        if offset & RARE != 0 {
            return Some(Stop::Damage);
        }
    } else if (place.count as u8) < (SCALE + OFFSET_AND_NEXT) as u8 {
        // SAFETY: as above.
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
    // SAFETY: as above; and the match, 258 bytes at most, begins in the first three of `SLACK` bytes.
    unsafe {
        place.fetch();
        copy::<MODERN>(from, place.out, distance, length);
    }
    place.out = place.out.wrapping_add(length);
    None
}

/// Have the compiler load `entry` here, and not on the way it will be used on.
#[inline(always)]
fn early(entry: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    let entry = {
        let mut entry = entry;
        // SAFETY: no instruction.
        unsafe {
            std::arch::asm!("/* {0:e} */", inout(reg) entry, options(nomem, nostack, preserves_flags))
        };
        entry
    };
    entry
}

/// Have the compiler keep this address in a register: to an address with a constant on top, another
/// cycle goes.
#[inline(always)]
fn apart(table: *const u32) -> *const u32 {
    #[cfg(target_arch = "x86_64")]
    let table = {
        let mut table = table;
        // SAFETY: no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) table, options(readonly, nostack, preserves_flags))
        };
        table
    };
    table
}
