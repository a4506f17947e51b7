//! What `git sluice apply` leaves in a directory: two files, one of which names the commit.

use std::{fs, path::Path};

use gix_hash::ObjectId;
use sluice_format::unarchive::Kind;

use super::table::Record;

/// The file that names the commit.
pub(super) const STATE: &str = ".git-sluice";
/// The list of what was applied.
const LIST: &str = ".git-sluice.files";
/// More than any state has, in bytes.
const LEN_MAX: u64 = 512;

/// Whether `path` is one of the files, which are plain text.
pub(super) fn is_state(path: &[u8], record: &Record) -> bool {
    let is_text = record.kind == Kind::File && record.mode & 0o111 == 0;
    is_text && (path == STATE.as_bytes() || path == LIST.as_bytes())
}

/// The commit whose files were applied to `directory`, if all of them were.
pub(super) fn commit(directory: &Path) -> Option<ObjectId> {
    let path = directory.join(STATE);
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LEN_MAX {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    let commit = text.strip_prefix("holds ")?.split_whitespace().next()?;
    ObjectId::from_hex(commit.as_bytes()).ok()
}
