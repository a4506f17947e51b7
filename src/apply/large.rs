//! A file whose content comes in several pieces, which any thread may write. Must not read the archive.

use std::sync::Arc;

use cap_std::fs::{File, FileExt};

use crate::error::Result;

use super::{
    cursor::failed,
    hash::Hasher,
    record::{Record, RecordKind},
};

/// The pieces so far of a large file.
pub(super) struct LargeFile {
    target: Arc<Target>,
    mode: u32,
    len: u64,
    hasher: Hasher,
}

/// A file that was created, and its path.
pub(super) struct Target {
    file: File,
    path: Vec<u8>,
}

impl LargeFile {
    pub(super) fn new(file: File, path: &[u8], mode: u32) -> Self {
        let path = path.to_vec();
        Self {
            target: Arc::new(Target { file, path }),
            mode,
            len: 0,
            hasher: Hasher::default(),
        }
    }

    /// Where the next piece, which is `content`, is to be written: the file, and the byte of the file.
    pub(super) fn place(&mut self, content: &[u8]) -> (Arc<Target>, u64) {
        self.hasher.update(content);
        let at = self.len;
        self.len += content.len() as u64;
        (Arc::clone(&self.target), at)
    }

    /// The record of the file with all of its pieces.
    pub(super) fn record(&self) -> Record<'_> {
        let kind = RecordKind::File {
            mode: self.mode,
            size: self.len,
            hash: self.hasher.finish(),
        };
        Record {
            path: &self.target.path,
            kind,
        }
    }
}

impl Target {
    /// Write a piece that begins at byte `at`.
    pub(super) fn write(&self, content: &[u8], at: u64) -> Result<()> {
        let written = self.file.write_all_at(content, at);
        written.map_err(|error| failed("write", &self.path, error))
    }
}
