//! Asks the system for loose objects, before the first of them is used.
//!
//! Must not decide whether an object exists: who needs it looks for it.

use std::path::{Path, PathBuf};

use gix_hash::{ObjectId, oid};

use super::{loose, map::Map};
use sluice_base::read_ahead::ask_for_files;

/// Opens the files of the loose objects `ids` in the object directories `dirs`, and asks for their content, in this order and
/// until `max_bytes` are asked for.
pub(super) fn ask(dirs: &[PathBuf], ids: &[ObjectId], max_bytes: u64) {
    ask_for_files(ids.len(), max_bytes, |number| {
        dirs.iter().map(move |dir| loose::path(dir, &ids[number]))
    });
}

/// Whether the loose object `id` is in memory. True if there is no such object.
pub(super) fn is_in_memory(dirs: &[PathBuf], id: &oid) -> bool {
    let mut files = dirs.iter().map(|dir| Map::open(&loose::path(dir, id)));
    files
        .find_map(Result::ok)
        .is_none_or(|file| is_all_in_memory(&file))
}

/// Whether the file at `path`, which may hold anything, is in memory. True if it cannot be opened.
pub fn is_file_in_memory(path: &Path) -> bool {
    Map::open(path).map_or(true, |file| is_all_in_memory(&file))
}

fn is_all_in_memory(file: &Map) -> bool {
    file.is_in_memory(0..file.len())
}
