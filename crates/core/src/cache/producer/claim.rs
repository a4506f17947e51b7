//! The place of an archive in the directory, while this process holds its lock.

use std::{fs::File, sync::Arc};

use crate::cache::{
    directory::CacheDirectory,
    entry::{self, DATA, FileProgress},
    error::CacheError,
    follow::Readers,
    quota::Quota,
    request::Key,
    settings::Settings,
};

/// An archive that this process may make for others as well.
pub(in crate::cache) struct Claim<'a> {
    pub(super) directory: &'a CacheDirectory,
    pub(super) key: &'a Key,
    /// The name of the complete archive.
    pub(super) name: String,
    /// The lock of the file is held.
    pub(super) file: Arc<File>,
    pub(super) readers: Readers,
    pub(super) quota: Quota,
    /// Whether the archive is kept even without a follower.
    pub(super) keep: bool,
    /// Whether the archive is finished and kept if the client leaves.
    pub(super) finish: bool,
}

impl<'a> Claim<'a> {
    /// Begins the archive `key` in `file`, whose lock the caller holds.
    pub(in crate::cache) fn begin(
        directory: &'a CacheDirectory,
        settings: &Settings,
        key: &'a Key,
        file: Arc<File>,
        keep: bool,
    ) -> Result<Self, CacheError> {
        let name = key.hex();
        let begin = || {
            let mut quota = Quota::new(settings);
            quota.extend(directory, &file, DATA)?;
            let readers = Readers::create(directory, &name)?;
            let written = FileProgress::growing(0).write(&file, key);
            written.map_err(|error| CacheError::new("cannot write a file", &error))?;
            Ok((quota, readers))
        };
        match begin() {
            Ok((quota, readers)) => Ok(Self {
                directory,
                key,
                name,
                file,
                readers,
                quota,
                keep,
                finish: settings.finish,
            }),
            Err(error) => {
                let _ = entry::discard_partial(directory, &name, &file);
                Err(error)
            }
        }
    }

    /// Whether the file still is the one in which others look for the archive.
    pub(super) fn is_in_place(&self) -> bool {
        let at = self.directory.is_at(&entry::part(&self.name), &self.file);
        at.unwrap_or(false)
    }

    /// Whether the archive is kept, or a reader has joined. If not, no reader can join any more.
    pub(super) fn is_wanted(&self) -> bool {
        self.keep || self.readers.any() || !self.readers.close_if_empty()
    }

    /// Leaves the place to another process: readers take the producer for dead.
    pub(in crate::cache) fn leave(&self) {
        let _ = entry::discard_partial(self.directory, &self.name, &self.file);
        let _ = self.file.unlock();
    }
}
