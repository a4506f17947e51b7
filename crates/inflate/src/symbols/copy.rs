//! Copies matches in words wider than most matches. The bytes after a match are overwritten.

/// Bytes of a match that are always copied. Nearly all matches are shorter.
pub(super) const FIRST: usize = 48;
/// Bytes copied at once of a longer match.
pub(super) const MORE: usize = 64;

/// Copy a match, overwriting the bytes after it.
///
/// # Safety
///
/// `from` lies `distance` before `to`, at least one byte. With `length` rounded up to [`FIRST`]
/// plus a multiple of [`MORE`], that many bytes can be written from `to` on, and all bytes from `from` up
/// to there can be read.
#[inline(always)]
pub(super) unsafe fn copy<const MODERN: bool>(
    from: *const u8,
    to: *mut u8,
    distance: usize,
    length: usize,
) {
    if distance < WIDE {
        // SAFETY: the caller upholds the contract.
        return unsafe { copy_near::<MODERN>(from, to, distance, length) };
    }
    // SAFETY: the caller upholds the contract; no word overlaps itself, and words are copied one after
    // another.
    unsafe {
        wide(from, to, 0);
        wide(from, to, WIDE);
        wide(from, to, 2 * WIDE);
        let mut done = FIRST;
        while done < length {
            wide(from, to, done);
            wide(from, to, done + WIDE);
            wide(from, to, done + 2 * WIDE);
            wide(from, to, done + 3 * WIDE);
            done += MORE;
        }
    }
}

/// Bytes of the widest word that every processor has.
const WIDE: usize = size_of::<u128>();
const _: () = assert!(FIRST == 3 * WIDE && MORE == 4 * WIDE);

/// # Safety
/// A word can be read at `from + at` and written at `to + at`.
#[inline(always)]
unsafe fn wide(from: *const u8, to: *mut u8, at: usize) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        let word = from.byte_add(at).cast::<u128>().read_unaligned();
        to.byte_add(at).cast::<u128>().write_unaligned(word);
    }
}

/// Copy a match that is nearer than a word: the bytes between `from` and `to` are repeated.
///
/// # Safety
///
/// As for [`copy`]; `distance` is less than [`WIDE`], and with `MODERN` the processor is modern.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
unsafe fn copy_near<const MODERN: bool>(
    from: *const u8,
    to: *mut u8,
    distance: usize,
    length: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if MODERN {
        use std::arch::x86_64::{
            _mm_loadu_si128 as load, _mm_shuffle_epi8 as shuffle, _mm_storeu_si128 as store,
        };
        let places = &PERIODIC[distance % WIDE];
        let mut at = 0;
        // SAFETY: the caller upholds the contract.
        unsafe {
            let word = shuffle(load(from.cast()), load(places.as_ptr().cast()));
            while at < length {
                store(to.add(at).cast(), word);
                at += WIDE - WIDE % distance;
            }
        }
        return;
    }
    for at in 0..length {
        // SAFETY: the caller upholds the contract.
        unsafe { to.add(at).write(from.add(at).read()) };
    }
}

/// For each distance, the source index of each byte of a word.
#[cfg(target_arch = "x86_64")]
static PERIODIC: [[u8; WIDE]; WIDE] = {
    let mut places = [[0; WIDE]; WIDE];
    let mut at = WIDE;
    while at < WIDE * WIDE {
        places[at / WIDE][at % WIDE] = (at % WIDE % (at / WIDE)) as u8;
        at += 1;
    }
    places
};
