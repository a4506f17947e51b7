//! Copies of matches, in words wider than most of them: what follows a match is overwritten as well.

/// Bytes of a match that are copied at any rate: all, nearly always.
pub(super) const FIRST: usize = 48;
/// Bytes that are copied at once if that was not all.
pub(super) const MORE: usize = 64;

/// Copy a match, and what follows it.
///
/// # Safety
/// `from` lies `distance` before `to`, one at least, and `length`, rounded up to [`FIRST`] and then to
/// a multiple of [`MORE`] more, can be written from `to` on, and read up to there.
#[inline(always)]
pub(super) unsafe fn copy<const MODERN: bool>(
    from: *const u8,
    to: *mut u8,
    distance: usize,
    length: usize,
) {
    if distance < WIDE {
        // SAFETY: the caller's.
        return unsafe { copy_near::<MODERN>(from, to, distance, length) };
    }
    // SAFETY: the caller's; no word overlaps itself, and words are copied one after another.
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

/// Bytes of the widest word that everybody has.
const WIDE: usize = size_of::<u128>();
const _: () = assert!(FIRST == 3 * WIDE && MORE == 4 * WIDE);

/// # Safety
/// A word can be read at `from + at` and written at `to + at`.
#[inline(always)]
unsafe fn wide(from: *const u8, to: *mut u8, at: usize) {
    // SAFETY: the caller's.
    unsafe {
        let word = from.byte_add(at).cast::<u128>().read_unaligned();
        to.byte_add(at).cast::<u128>().write_unaligned(word);
    }
}

/// Copy a match that overlaps the words it would be copied in: what lies between, again and again.
///
/// # Safety
/// As for [`copy`], with fewer than [`WIDE`] bytes between, and with `MODERN` on a modern processor.
#[inline(always)]
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
        // SAFETY: the caller's.
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
        // SAFETY: the caller's.
        unsafe { to.add(at).write(from.add(at).read()) };
    }
}

/// By a distance, the places to take the bytes of a word from.
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
