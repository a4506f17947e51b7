//! Files mapped into memory: one of three modules with `unsafe` code.
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
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len == 0 {
            return Ok(Self(None));
        }
        // With the length given, the file is not asked for it a second time.
        let mut options = memmap2::MmapOptions::new();
        options.len(len);
        // SAFETY: the mapping is private and read-only, and git never changes a pack or an index
        // in place: it writes new files and unlinks old ones, which leaves the mapping whole. A
        // program that truncates such a file under us ends us by SIGBUS, as it would end git.
        let map = unsafe { options.map(&file)? };
        Ok(Self(Some(map)))
    }

    /// Give the pages that were touched so far back to the kernel; whoever touches them again gets
    /// them from its cache. Only a hint: nothing depends on it.
    pub(super) fn release(&self) {
        let Some(map) = &self.0 else { return };
        // SAFETY: the mapping is of a file and read-only, so the dropped pages hold nothing that
        // the file does not: slices into it read the same bytes before and after.
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
