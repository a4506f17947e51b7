//! What `git sluice apply` leaves in a directory: two files, one of which names the commit.

use std::{fs::File, io::Read, path::Path};

use gix_hash::ObjectId;

/// The file that names the commit.
const STATE: &str = ".git-sluice";
/// The list of what was applied.
const LIST: &str = ".git-sluice.files";
/// More than any state has, in bytes.
const LEN_MAX: u64 = 512;

/// Whether `path` is one of the files.
pub(super) fn is_state(path: &[u8]) -> bool {
    path == STATE.as_bytes() || path == LIST.as_bytes()
}

/// The commit whose files were applied to `directory`, if all of them were.
pub(super) fn commit(directory: &Path) -> Option<ObjectId> {
    let path = directory.join(STATE);
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = File::open(path)
        .ok()?
        .take(LEN_MAX)
        .read_to_string(&mut text);
    let _ = read.ok()?;
    let commit = text.strip_prefix("holds ")?.split_whitespace().next()?;
    ObjectId::from_hex(commit.as_bytes()).ok()
}
