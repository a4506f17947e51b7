//! Which keys were asked for lately, so that an archive is kept from its second request on.
//!
//! One file of fixed size for all keys: a key has one place in it, and takes the place of another key there. A key
//! that is forgotten costs one more production.

use std::{
    os::unix::fs::FileExt,
    time::{Duration, SystemTime},
};

use super::{directory::Directory, request::Key};

/// The name of the file.
const NAME: &str = "seen";
/// Places of the file.
const SLOTS: u64 = 1 << 14;
/// Bytes of a place: the start of a key, and seconds since 1970.
const SLOT: u64 = 16;

/// Notes a request for `key`. Whether there was another one during `age`.
pub(super) fn record_request(directory: &Directory, key: &Key, age: Duration) -> bool {
    let Ok(file) = directory.open_or_create(NAME) else {
        return false;
    };
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let (start, place) = (number(&key.0[..8]), number(&key.0[8..16]) % SLOTS * SLOT);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_secs());
    let mut slot = [0; SLOT as usize];
    let known = file.read_exact_at(&mut slot, place).is_ok() && number(&slot[..8]) == start;
    let is_young = now.saturating_sub(number(&slot[8..])) <= age.as_secs();
    slot[..8].copy_from_slice(&start.to_le_bytes());
    slot[8..].copy_from_slice(&now.to_le_bytes());
    // The size is that of all places from the start, so that the directory does not grow later.
    let _ = file
        .set_len(SLOTS * SLOT)
        .and_then(|()| file.write_all_at(&slot, place));
    known && is_young
}
