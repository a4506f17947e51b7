//! Maps files into memory: one of eight modules with `unsafe` code.
//!
//! Threads read packs and indices at random and at the same time. With a mapping, a lookup is a pointer,
//! and no byte of a pack is copied before it is inflated (`read` into buffers cost a fifth of the whole run
//! on a 250 MB tree). The module must hand out only shared slices. A reader of a [`Map`] must look at
//! [`Map::failure`] before the result is used: bytes that cannot be read are zeros.
#![allow(unsafe_code)]

use std::{
    fs::File,
    io,
    ops::{Deref, Range},
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::{Path, PathBuf},
};

use super::faults::{Watch, page_size};
use sluice_base::error::{Error, format_bytes, strerror};

/// The kernel reads at most this much for one question, whatever its length: the usual window of read-ahead, in bytes.
const QUESTION: usize = 128 << 10;
/// The pages that are looked at to see whether a part of a file is in memory.
const SAMPLE: usize = 16;

/// A whole file, read-only, in memory.
pub(crate) struct Map {
    /// `None` for an empty file, which cannot be mapped.
    content: Option<Mapping>,
    path: PathBuf,
}

struct Mapping {
    // Dropped before the mapping that it watches.
    watch: Watch,
    bytes: memmap2::Mmap,
}

impl Map {
    /// Map the regular file at `path`. Symbolic links are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let path = path.to_owned();
        if len == 0 {
            let content = None;
            return Ok(Self { content, path });
        }
        // With a given length, the mapping does not query the file's size again.
        let mut options = memmap2::MmapOptions::new();
        options.len(len);
        // SAFETY: the mapping is private and read-only. git never changes a pack or an index in place: git
        // writes new files and unlinks old ones, which leaves the mapping whole. If another program
        // truncates such a file, its bytes become zeros, and `failure` says so.
        let bytes = unsafe { options.map(&file)? };
        let watch = Watch::new(bytes.as_ptr(), bytes.len());
        let content = Some(Mapping { watch, bytes });
        Ok(Self { content, path })
    }

    /// The error of the first read of this file that has failed, if one has. The bytes are zeros since then.
    pub(crate) fn failure(&self) -> Option<Error> {
        let error = self.check().err()?;
        Some(cannot_be("read", &self.path, &error))
    }

    /// Maps the file at `path` and parses it. Fails with the message of `parse` if the file is invalid, unless it could not
    /// be read.
    pub(super) fn parsed<T>(
        path: &Path,
        parse: impl FnOnce(&Self) -> Result<T, &'static str>,
    ) -> io::Result<(Self, T)> {
        let map = Self::open(path)?;
        let parsed = parse(&map);
        map.check()?;
        let parsed = parsed.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        Ok((map, parsed))
    }

    /// Fails if a read of this file has failed.
    fn check(&self) -> io::Result<()> {
        let content = self.content.as_ref();
        let offset = content.and_then(|content| content.watch.failed_at());
        offset.map_or(Ok(()), |offset| Err(reason(&self.path, offset as u64)))
    }

    /// Return the touched pages to the kernel. A later access reads them from the kernel's cache. Only a
    /// hint.
    pub(super) fn release(&self) {
        let Some(map) = self.bytes() else { return };
        // SAFETY: the mapping is of a file and read-only, so the dropped pages hold only the bytes
        // of the file: slices into the mapping read the same bytes before and after.
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

impl Map {
    fn bytes(&self) -> Option<&memmap2::Mmap> {
        Some(&self.content.as_ref()?.bytes)
    }

    /// Asks the system for the bytes of `range`, and does not wait for them. Only a hint.
    pub(super) fn ask(&self, range: Range<usize>) {
        let Some(map) = self.bytes() else { return };
        let end = range.end.min(map.len());
        let mut start = range.start;
        while start < end {
            // Questions that begin at multiples of their length overlap in no page.
            let next = ((start / QUESTION + 1) * QUESTION).min(end);
            let _ = map.advise_range(memmap2::Advice::WillNeed, start, next - start);
            start = next;
        }
    }

    /// Whether a sample of the pages of `range` is in memory. True if the system does not say so.
    pub(super) fn is_in_memory(&self, range: Range<usize>) -> bool {
        let step = range.len().div_ceil(SAMPLE).max(page_size());
        let mut offsets = range.step_by(step);
        offsets.all(|offset| self.has_in_memory(offset))
    }

    /// Whether the page with the byte at `offset` is in memory. True if the system does not say so.
    pub(super) fn has_in_memory(&self, offset: usize) -> bool {
        let Some(map) = self.bytes().filter(|map| offset < map.len()) else {
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

/// The fatal `error` of a file or directory with objects at `path` that cannot be `accessed`, or read, or mapped.
pub(super) fn cannot_be(accessed: &str, path: &Path, error: &io::Error) -> Error {
    let what = match path.extension() {
        Some(extension) if extension == "idx" => "index file",
        Some(extension) if extension == "pack" => "packfile",
        _ if path.ends_with("pack") => "pack directory",
        _ if path.ends_with("multi-pack-index") => "multi-pack index",
        _ => "loose object",
    };
    let (path, why) = (path.as_os_str().as_bytes(), strerror(error));
    let values = [what.as_bytes(), path, accessed.as_bytes(), why.as_bytes()];
    Error::fatal(format_bytes("{} {} cannot be {}: {}", &values))
}

/// Why the byte at `offset` of the file at `path` cannot be read.
fn reason(path: &Path, offset: u64) -> io::Error {
    let again = File::open(path).and_then(|file| file.read_at(&mut [0], offset));
    match again {
        Err(error) => error,
        Ok(0) => io::Error::other("file is shorter than it was"),
        // The storage answers again.
        Ok(_) => io::Error::from_raw_os_error(libc::EIO),
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes().map_or(&[], Deref::deref)
    }
}
