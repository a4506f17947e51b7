//! The archive of a family that was completed last. Families share places, so the reader asks the archive for its family.

use super::{
    directory::CacheDirectory,
    request::Key,
    table::{LATEST, Slot},
};

/// The key of the archive that was completed last for `family`, or for another one.
pub(super) fn read(directory: &CacheDirectory, family: &Key) -> Option<Key> {
    Slot::open(directory, LATEST, family)?.read().map(Key)
}

/// Notes that the archive `key` was completed for `family`. Without the note, the next archive has no donor.
pub(super) fn write(directory: &CacheDirectory, family: &Key, key: &Key) {
    if let Some(slot) = Slot::open(directory, LATEST, family) {
        slot.write(&key.0);
    }
}
