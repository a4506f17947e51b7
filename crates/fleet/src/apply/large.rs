//! A file whose content comes in several pieces, which any thread may write. Must not read the archive.

use std::{
    io::{self, Read},
    sync::Arc,
};

use cap_std::fs::{File, FileExt};

use sluice_base::error::{Error, Result};

use super::{
    cursor::failed,
    hash::Hasher,
    record::{PathRecord, RecordKind},
    writer::has_content,
};

/// A large file, as far as the archive was read.
pub(super) struct LargeFile {
    file: Arc<SharedFile>,
    /// Whether the file was there before. It has the content so far, and nothing is written to it.
    is_former: bool,
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
    pub(super) fn new(file: File, path: &[u8], mode: u32, is_former: bool) -> Self {
        let path = path.to_vec();
        Self {
            file: Arc::new(SharedFile { file, path }),
            is_former,
            mode,
            len: 0,
            hasher: Hasher::default(),
        }
    }

    /// Whether a file that was there before has `content` where the next piece begins. Always true for a new file.
    pub(super) fn goes_on_with(&self, content: &[u8]) -> bool {
        !self.is_former || has_content(&self.file.file, content, self.len)
    }

    /// Goes on with the file that `make` creates, which gets a copy of the content so far.
    pub(super) fn replace(&mut self, make: impl FnOnce(&[u8], u32) -> Result<File>) -> Result<()> {
        let path = self.file.path.clone();
        let file = make(&path, self.mode)?;
        let new = SharedFile { file, path };
        let mut former = (&self.file.file).take(self.len);
        let copied = io::copy(&mut former, &mut &new.file);
        copied.map_err(|error| new.failed(error))?;
        (self.file, self.is_former) = (Arc::new(new), false);
        Ok(())
    }

    /// Adds `content` to the size and the hash. Returns the place where it is to be written, if it is: the file, and the byte at
    /// which the piece begins.
    pub(super) fn place(&mut self, content: &[u8]) -> Option<(Arc<SharedFile>, u64)> {
        self.hasher.update(content);
        let at = self.len;
        self.len += content.len() as u64;
        (!self.is_former).then(|| (Arc::clone(&self.file), at))
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
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Error {
        // On a full disk, the next archive needs the room.
        let _ = self.file.set_len(0);
        failed("write", &self.path, error)
    }
}
