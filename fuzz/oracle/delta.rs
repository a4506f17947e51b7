//! Compares the result of a delta with gix-pack.

#[path = "pack.rs"]
mod pack;

/// How the pack target chooses the kind of an entry.
const BLOB: u8 = 3;
const OFS_DELTA: u8 = 6;

/// Compares what both make of `input`: a length, a base of so many bytes, and a delta.
pub fn compare(input: &[u8]) {
    let Some((&length, rest)) = input.split_first() else {
        return;
    };
    let (base, delta) = rest.split_at(rest.len().min(length.into()));
    let Ok(length) = u8::try_from(delta.len()) else {
        return;
    };
    let entries = [&[BLOB, base.len() as u8], base, &[OFS_DELTA, length], delta];
    pack::compare(&entries.concat());
}
