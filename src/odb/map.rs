//! Files mapped into memory: the only module with `unsafe` code.
//!
//! Packs and their indices are read at random and by several threads at once; mapped, a lookup is
//! a pointer, and no byte of a pack is copied before it is inflated (`read` into buffers cost a
//! fifth of the whole run on a 250 MB tree). It must never hand out anything but shared slices.
#![allow(unsafe_code)]

use std::{fs::File, io, ops::Deref, path::Path};

/// A whole file, read-only, in memory.
pub(super) struct Map(Option<memmap2::Mmap>);

impl Map {
    /// Map the regular file at `path`; symbolic links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the mapping is private and read-only, and git never changes a pack or an index
        // in place: it writes new files and unlinks old ones, which leaves the mapping whole. A
        // program that truncates such a file under us ends us by SIGBUS, as it would end git.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Self(Some(map)))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
