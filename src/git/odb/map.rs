//! Maps files into memory: one of four modules with `unsafe` code.
//!
//! Threads read packs and indices at random and at the same time. With a mapping, a lookup is a pointer,
//! and no byte of a pack is copied before it is inflated (`read` into buffers cost a fifth of the whole run
//! on a 250 MB tree). The module must hand out only shared slices.
#![allow(unsafe_code)]

use std::{
    fs::File,
    io,
    ops::{Deref, Range},
    path::Path,
};

/// The kernel reads at most this much for one question, whatever its length: the usual window of read-ahead, in bytes.
const QUESTION: usize = 128 << 10;
/// The pages that are looked at to see whether a file is in memory.
const SAMPLE: usize = 32;

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

impl Map {
    /// Asks the system for the bytes of `range`, and does not wait for them. Only a hint.
    pub(super) fn ask(&self, range: Range<usize>) {
        let Some(map) = &self.0 else { return };
        let end = range.end.min(map.len());
        let mut start = range.start;
        while start < end {
            // Questions that begin at multiples of their length overlap in no page.
            let next = ((start / QUESTION + 1) * QUESTION).min(end);
            let _ = map.advise_range(memmap2::Advice::WillNeed, start, next - start);
            start = next;
        }
    }

    /// Whether a sample of pages is in memory. True if the system does not say so.
    pub(super) fn is_in_memory(&self) -> bool {
        let step = self.len().div_ceil(SAMPLE).max(page_size());
        let mut offsets = (0..self.len()).step_by(step);
        offsets.all(|offset| self.has_in_memory(offset))
    }

    /// Whether the page with the byte at `offset` is in memory. True if the system does not say so.
    pub(super) fn has_in_memory(&self, offset: usize) -> bool {
        let Some(map) = self.0.as_ref().filter(|map| offset < map.len()) else {
            return true;
        };
        let mut state = 0;
        // SAFETY: the address is that of a page of the mapping, and the answer about one page is one byte.
        let answer = unsafe {
            let address = map.as_ptr().add(offset - offset % page_size());
            libc::mincore(address.cast_mut().cast(), 1, &raw mut state)
        };
        answer != 0 || state & 1 != 0
    }
}

/// The size of a page in bytes. rustix would read it from a place that valgrind does not show.
fn page_size() -> usize {
    // SAFETY: the call reads a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
