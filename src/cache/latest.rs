//! The archive of a family that was completed last: `<family>.latest` has its key.

use std::os::unix::fs::FileExt;

use super::{directory::CacheDirectory, error::CacheError, request::Key};

/// Letters of a key.
const KEY_LEN: usize = 64;

fn name(family: &Key) -> String {
    format!("{}.latest", family.hex())
}

/// The key of the archive that was completed last for `family`.
pub(super) fn read(directory: &CacheDirectory, family: &Key) -> Option<String> {
    let file = directory.open_file(&name(family)).ok()??;
    let mut key = [0; KEY_LEN];
    file.read_exact_at(&mut key, 0).ok()?;
    let key = String::from_utf8(key.to_vec()).ok()?;
    key.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(key)
}

/// Notes that the archive `key` was completed for `family`.
pub(super) fn write(directory: &CacheDirectory, family: &Key, key: &Key) -> Result<(), CacheError> {
    let file = directory.open_or_create(&name(family))?;
    file.write_all_at(key.hex().as_bytes(), 0)
        .map_err(|error| CacheError::new("cannot write to a file", &error))
}
