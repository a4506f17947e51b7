//! A complete archive of the directory, of which parts are read.

use std::{fs::File, ops::Range, sync::Arc};

use super::{
    directory::{self, CacheDirectory},
    entry::{Contents, Damaged},
    latest,
    request::Key,
    settings::Settings,
};

/// An archive that is complete.
pub struct StoredArchive {
    file: Arc<File>,
    contents: Contents,
}

impl StoredArchive {
    /// The archive `key`, if it is complete and can be read.
    pub fn open(settings: &Settings, key: &Key) -> Option<Self> {
        let directory = CacheDirectory::open(&settings.directory).ok()?;
        let file = directory.open_file(&key.hex()).ok()??;
        if directory::is_older(&file, settings.age) {
            return None;
        }
        let stored = Self::read(Arc::new(file), key).ok()?;
        directory::touch(&stored.file);
        Some(stored)
    }

    /// The archive that was completed last for `family`, if it is still here. It may be one of another family.
    pub fn latest(settings: &Settings, family: &Key) -> Option<Self> {
        let directory = CacheDirectory::open(&settings.directory).ok()?;
        let key = latest::read(&directory, family)?;
        let file = directory.open_file(&key.hex()).ok()??;
        let stored = Self::read(Arc::new(file), &key).ok()?;
        directory::touch(&stored.file);
        Some(stored)
    }

    /// The archive `key` in `file`, which may have another name by now, or none.
    pub(super) fn read(file: Arc<File>, key: &Key) -> Result<Self, Damaged> {
        let contents = Contents::read(&file, key)?;
        Ok(Self { file, contents })
    }

    /// The archive for another thread, without the notes.
    pub fn another(&self) -> Self {
        Self {
            file: Arc::clone(&self.file),
            contents: self.contents.another(),
        }
    }

    /// Takes what the producer said about the archive.
    pub fn take_notes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.contents.notes)
    }

    /// The length of the archive, in bytes.
    pub fn bytes(&self) -> u64 {
        self.contents.produced
    }

    /// Passes the bytes `range` of the archive to `take`, up to a part of the file that is damaged. Returns the number of bytes.
    pub fn copy<E>(
        &mut self,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut at = range.start;
        while at < range.end {
            let Ok((start, chunk)) = self.contents.chunk_around(&self.file, at) else {
                break;
            };
            let within = |position: u64| (position - start).min(chunk.len() as u64) as usize;
            let wanted = &chunk[within(at)..within(range.end)];
            // The archive ends before the range.
            if wanted.is_empty() {
                break;
            }
            take(wanted)?;
            at += wanted.len() as u64;
        }
        Ok(at - range.start)
    }
}
