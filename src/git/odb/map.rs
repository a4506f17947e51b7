//! Maps files into memory: one of four modules with `unsafe` code.
//!
//! Threads read packs and indices at random and at the same time. With a mapping, a lookup is a pointer,
//! and no byte of a pack is copied before it is inflated (`read` into buffers cost a fifth of the whole run
//! on a 250 MB tree). The module must hand out only shared slices.
#![allow(unsafe_code)]

use std::{fs::File, io, ops::Deref, path::Path};

/// A whole file, read-only, in memory.
pub(super) struct Map(Option<memmap2::Mmap>);

impl Map {
    /// Map the regular file at `path`. Symbolic links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len == 0 {
            return Ok(Self(None));
        }
        // With a given length, the mapping does not query the file's size again.
        let mut options = memmap2::MmapOptions::new();
        options.len(len);
        // SAFETY: the mapping is private and read-only. git never changes a pack or an index in place: git
        // writes new files and unlinks old ones, which leaves the mapping whole. If another program
        // truncates such a file, SIGBUS ends this process, as it would end git.
        let map = unsafe { options.map(&file)? };
        Ok(Self(Some(map)))
    }

    /// Return the touched pages to the kernel. A later access reads them from the kernel's cache. Only a
    /// hint.
    pub(super) fn release(&self) {
        let Some(map) = &self.0 else { return };
        // SAFETY: the mapping is of a file and read-only, so the dropped pages hold only the bytes
        // of the file: slices into the mapping read the same bytes before and after.
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
