//! A file whose content comes in several pieces, which any thread may write. Must not read the archive.

use std::sync::Arc;

use cap_std::fs::{File, FileExt};

use sluice_base::error::Result;

use super::{
    cursor::failed,
    hash::Hasher,
    record::{PathRecord, RecordKind},
};

/// A large file, as far as the archive was read.
pub(super) struct LargeFile {
    file: Arc<SharedFile>,
    mode: u32,
    /// The bytes so far.
    len: u64,
    hasher: Hasher,
}

/// The handle of a large file, and its path.
pub(super) struct SharedFile {
    file: File,
    path: Vec<u8>,
}

impl LargeFile {
    pub(super) fn new(file: File, path: &[u8], mode: u32) -> Self {
        let path = path.to_vec();
        Self {
            file: Arc::new(SharedFile { file, path }),
            mode,
            len: 0,
            hasher: Hasher::default(),
        }
    }

    /// Adds `content` to the size and the hash. Returns the place where it is to be written: the file, and the byte at
    /// which the piece begins.
    pub(super) fn place(&mut self, content: &[u8]) -> (Arc<SharedFile>, u64) {
        self.hasher.update(content);
        let at = self.len;
        self.len += content.len() as u64;
        (Arc::clone(&self.file), at)
    }

    /// The record of the file with all of its pieces.
    pub(super) fn record(&self) -> PathRecord<'_> {
        let kind = RecordKind::File {
            mode: self.mode,
            size: self.len,
            hash: self.hasher.finish(),
        };
        PathRecord {
            path: &self.file.path,
            kind,
        }
    }
}

impl SharedFile {
    /// Writes a piece that begins at byte `at`.
    pub(super) fn write(&self, content: &[u8], at: u64) -> Result<()> {
        let written = self.file.write_all_at(content, at);
        written.map_err(|error| {
            // On a full disk, the next archive needs the room.
            let _ = self.file.set_len(0);
            failed("write", &self.path, error)
        })
    }
}
