//! Files of fixed size with a place for each key. Keys share places, and the last one that is written stays.
//!
//! What is read is a hint: a place may have been taken over, torn, or never written.

use std::{fs::File, os::unix::fs::FileExt};

use super::{
    directory::{CacheDirectory, largest_file},
    request::Key,
};

/// Requests: see [`admission`](super::admission).
pub(super) const SEEN: &str = "seen";
/// Archives: see [`latest`](super::latest).
pub(super) const LATEST: &str = "latest";
/// Commits that refs lead to: see `reach`.
pub(super) const REACHED: &str = "reached";
/// Bytes of each table.
const BYTES: u64 = 256 << 10;
/// Bytes of all tables.
pub(super) const ROOM: u64 = 3 * BYTES;

/// Whether `name` is that of a table.
pub(super) fn is_table(name: &str) -> bool {
    [SEEN, LATEST, REACHED].contains(&name)
}

/// The place of a key in a table whose places have `LEN` bytes.
pub(super) struct Slot<const LEN: usize> {
    file: File,
    at: u64,
}

impl<const LEN: usize> Slot<LEN> {
    /// The place of `key` in `table`, which is created if it is missing. `None` if there can be no table.
    pub(super) fn open(directory: &CacheDirectory, table: &str, key: &Key) -> Option<Self> {
        if largest_file() < BYTES {
            return None;
        }
        let file = directory.open_or_create(table).ok()?;
        // The size is that of all places from the start, so that the directory does not grow later.
        file.set_len(BYTES).ok()?;
        let number = u64::from_le_bytes(*key.0[8..].first_chunk()?);
        let at = number % (BYTES / LEN as u64) * LEN as u64;
        Some(Self { file, at })
    }

    pub(super) fn read(&self) -> Option<[u8; LEN]> {
        let mut bytes = [0; LEN];
        self.file.read_exact_at(&mut bytes, self.at).ok()?;
        Some(bytes)
    }

    /// A failure leaves the old hint, or part of it.
    pub(super) fn write(&self, bytes: &[u8; LEN]) {
        let _ = self.file.write_all_at(bytes, self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, CacheDirectory, Key, LATEST, SEEN, Slot, is_table};
    use sluice_base::temporary;

    #[test]
    fn keys_share_places() {
        let top = temporary::directory();
        let directory = CacheDirectory::open(&top.path().join("cache")).expect("ours");
        let slot = |key: [u8; 32]| Slot::<32>::open(&directory, LATEST, &Key(key)).expect("room");
        let (one, other, far) = ([0; 32], [[1; 8], [0; 8], [1; 8], [1; 8]].concat(), [9; 32]);
        slot(one).write(&[1; 32]);
        slot(far).write(&[9; 32]);
        assert_eq!(slot(one).read(), Some([1; 32]));
        slot(other.try_into().expect("32 bytes")).write(&[2; 32]);
        assert_eq!(
            [slot(one).read(), slot(far).read()],
            [Some([2; 32]), Some([9; 32])]
        );
        let listed = directory.list().expect("ours");
        assert!(
            listed
                .iter()
                .all(|file| is_table(&file.name) && file.room == BYTES)
        );
        assert!(Slot::<16>::open(&directory, SEEN, &Key(one)).is_some());
    }
}
