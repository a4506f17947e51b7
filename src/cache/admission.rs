//! Which keys were asked for lately, so that an archive is kept from its second request on.
//!
//! One file of fixed size for all keys: a key has one place in it, and takes the place of another key there. A key
//! that is forgotten costs one more production.

use std::{
    os::unix::fs::FileExt,
    time::{Duration, SystemTime},
};

use super::{directory::CacheDirectory, quota::largest_file, request::Key};

/// The name of the file.
const NAME: &str = "seen";
/// Places of the file.
const SLOTS: u64 = 1 << 14;
/// Bytes of a place: the start of a key, and seconds since 1970.
const SLOT: u64 = 16;

/// Notes a request for `key`. Whether there was another one during `age`.
pub(super) fn record_request(directory: &CacheDirectory, key: &Key, age: Duration) -> bool {
    if largest_file() < SLOTS * SLOT {
        return false;
    }
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

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::FileExt, time::Duration};

    use super::{Key, NAME, SLOT, SLOTS, record_request};
    use crate::{base::temporary, cache::directory::CacheDirectory};

    const AGE: Duration = Duration::from_secs(60);

    /// A key with this start, whose place is the first one.
    fn key(start: u8) -> Key {
        let mut key = Key([0; 32]);
        key.0[0] = start;
        key
    }

    #[test]
    fn the_second_request_is_known() {
        let top = temporary::directory();
        let directory = CacheDirectory::open(&top.path().join("cache")).expect("ours");
        let asked = |start| record_request(&directory, &key(start), AGE);
        assert_eq!([asked(1), asked(1), asked(1)], [false, true, true]);
        assert_eq!([asked(2), asked(1)], [false, false], "they share a place");
        let other = Key([9; 32]);
        assert!(!record_request(&directory, &other, AGE));
        assert!(asked(1), "the other one has another place");
        let file = directory.open_file(NAME).expect("readable").expect("made");
        assert_eq!(file.metadata().expect("ours").len(), SLOTS * SLOT);
    }

    #[test]
    fn an_old_request_does_not_count() {
        let top = temporary::directory();
        let directory = CacheDirectory::open(&top.path().join("cache")).expect("ours");
        let asked = || record_request(&directory, &key(1), AGE);
        assert!(!asked());
        let file = directory.open_file(NAME).expect("readable").expect("made");
        let mut time = [0; 8];
        file.read_exact_at(&mut time, 8).expect("our own");
        let old = u64::from_le_bytes(time) - AGE.as_secs() - 1;
        file.write_all_at(&old.to_le_bytes(), 8).expect("our own");
        assert_eq!([asked(), asked()], [false, true]);
    }
}
