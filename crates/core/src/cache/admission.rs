//! Which keys were asked for lately, so that an archive is kept from its second request on. A key that is forgotten costs one
//! more production.

use std::time::{Duration, SystemTime};

use super::{
    directory::CacheDirectory,
    request::Key,
    table::{SEEN, Slot},
};

/// Notes a request for `key`: the start of the key, and seconds since 1970. Whether there was another one during `age`.
pub(super) fn record_request(directory: &CacheDirectory, key: &Key, age: Duration) -> bool {
    let Some(slot) = Slot::<16>::open(directory, SEEN, key) else {
        return false;
    };
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_secs());
    let is_recent = slot.read().is_some_and(|noted| {
        let (start, time) = noted.split_at(8);
        let time = u64::from_le_bytes(time.try_into().unwrap_or_default());
        key.0.starts_with(start) && now.saturating_sub(time) <= age.as_secs()
    });
    let mut noted = [0; 16];
    noted[..8].copy_from_slice(&key.0[..8]);
    noted[8..].copy_from_slice(&now.to_le_bytes());
    slot.write(&noted);
    is_recent
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::FileExt, time::Duration};

    use super::{Key, SEEN, record_request};
    use crate::cache::directory::CacheDirectory;
    use sluice_base::temporary;

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
    }

    #[test]
    fn an_old_request_does_not_count() {
        let top = temporary::directory();
        let directory = CacheDirectory::open(&top.path().join("cache")).expect("ours");
        let asked = || record_request(&directory, &key(1), AGE);
        assert!(!asked());
        let file = directory.open_file(SEEN).expect("readable").expect("made");
        let mut time = [0; 8];
        file.read_exact_at(&mut time, 8).expect("our own");
        let old = u64::from_le_bytes(time) - AGE.as_secs() - 1;
        file.write_all_at(&old.to_le_bytes(), 8).expect("our own");
        assert_eq!([asked(), asked()], [false, true]);
    }
}
