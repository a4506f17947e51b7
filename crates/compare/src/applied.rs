//! What `git sluice apply` leaves in a directory: two files, one of which names the commit.

use std::{fs::File, io::Read, path::Path};

use bstr::ByteSlice;
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
    let mut text = Vec::new();
    let _ = File::open(path)
        .ok()?
        .take(LEN_MAX)
        .read_to_end(&mut text)
        .ok()?;
    let mut words = text.split_str(" ");
    let is_whole = words.next() == Some(b"holds");
    let commit = words.next().filter(|_| is_whole)?;
    ObjectId::from_hex(commit.trim_end()).ok()
}
