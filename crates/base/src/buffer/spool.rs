//! Bytes that are written once and then read back: in memory up to a limit, beyond the limit in an unnamed
//! temporary file.
//!
//! A spool never fills the disk: writing fails while there is still room for other programs. The file has
//! no name, so nothing remains, however the process ends.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Read, Write},
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::Path,
};

use crate::error::{sanitised, strerror};

/// Bytes written to the file at once.
const BLOCK_LEN: usize = 64 << 10;
/// Bytes written between two checks of the room on the disk.
const STEP: u64 = 1 << 20;
/// The most bytes of a disk that a spool leaves to others.
const RESERVE_MAX: u64 = 64 << 20;
/// The fraction of a small disk that a spool leaves to others.
const RESERVE_FRACTION: u64 = 16;

/// Bytes that are still being written.
pub struct Spool {
    /// The most bytes held in memory.
    max_memory: usize,
    memory: Vec<u8>,
    /// Takes all bytes once memory is full.
    file: Option<BufWriter<File>>,
    size: u64,
    /// The size at which the room on the disk is checked again.
    next_check: u64,
}

impl Spool {
    /// An empty spool that holds up to `max_memory` bytes in memory.
    pub fn new(max_memory: usize) -> Self {
        Self {
            max_memory,
            memory: Vec::new(),
            file: None,
            size: 0,
            next_check: 0,
        }
    }

    /// The number of bytes written so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fail if `size` bytes altogether fit neither into memory nor on the disk.
    pub fn check_room(&self, size: u64) -> io::Result<()> {
        if size <= self.max_memory as u64 {
            Ok(())
        } else {
            check_disk(size)
        }
    }

    /// Finish writing.
    pub fn finish(self) -> io::Result<Spooled> {
        let size = self.size;
        let content = match self.file {
            None => SpooledBytes::Memory(self.memory),
            Some(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                SpooledBytes::File(file.map_err(cannot_write)?)
            }
        };
        Ok(Spooled { content, size })
    }

    /// Before `len` further bytes are written to the file, check at every step whether the disk has room.
    fn check_next(&mut self, len: u64) -> io::Result<()> {
        let size = self.size + len;
        if size >= self.next_check {
            let on_disk = self.file.as_ref().map_or(0, |_| self.size);
            check_disk(size - on_disk + STEP)?;
            self.next_check = size + STEP;
        }
        Ok(())
    }

    /// The file. A new file takes over the bytes in memory.
    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        match &mut self.file {
            Some(file) => Ok(file),
            empty => {
                let file = tempfile::tempfile().map_err(cannot_write)?;
                let mut file = BufWriter::with_capacity(BLOCK_LEN, file);
                file.write_all(&std::mem::take(&mut self.memory))
                    .map_err(cannot_write)?;
                Ok(empty.insert(file))
            }
        }
    }
}

impl Write for Spool {
    /// Write all of `bytes`.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len();
        if self.file.is_none() && len <= self.max_memory - self.memory.len() {
            self.memory.extend_from_slice(bytes);
        } else {
            self.check_next(len as u64)?;
            self.file()?.write_all(bytes).map_err(cannot_write)?;
        }
        self.size += len as u64;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Complete bytes, which can be read from any position and repeatedly.
pub struct Spooled {
    content: SpooledBytes,
    size: u64,
}

enum SpooledBytes {
    Memory(Vec<u8>),
    File(File),
}

impl Spooled {
    /// The number of bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fill `out` with the bytes from `offset` on.
    pub fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.content {
            SpooledBytes::File(file) => file.read_exact_at(out, offset).map_err(cannot_read),
            SpooledBytes::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = bytes.get(start..).and_then(|rest| rest.get(..out.len()));
                let bytes = bytes.ok_or(ErrorKind::UnexpectedEof)?;
                out.copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// A reader of all bytes, from the first to the last.
    pub fn reader(&self) -> SpoolReader<'_> {
        SpoolReader {
            spooled: self,
            offset: 0,
        }
    }
}

/// Reads a [`Spooled`] from its first byte to its last.
pub struct SpoolReader<'a> {
    spooled: &'a Spooled,
    offset: u64,
}

impl Read for SpoolReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.spooled.size - self.offset).unwrap_or(usize::MAX);
        let len = rest.min(out.len());
        self.spooled.read_exact_at(&mut out[..len], self.offset)?;
        self.offset += len as u64;
        Ok(len)
    }
}

/// Fail if the disk of temporary files has no room for `size` further bytes.
fn check_disk(size: u64) -> io::Result<()> {
    let directory = tempfile::env::temp_dir();
    match room(&directory) {
        Some(room) if size > room => {
            let directory = shown(&directory);
            let message = format!(
                "no room for {size} bytes in a temporary file in '{directory}', which may take {room}"
            );
            Err(io::Error::new(ErrorKind::StorageFull, message))
        }
        _ => Ok(()),
    }
}

/// The bytes that a spool may take of the disk of `directory`. `None` if the size of the disk is unknown.
fn room(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    let total = disk.f_blocks.checked_mul(disk.f_frsize)?;
    let free = disk.f_bavail.checked_mul(disk.f_frsize)?;
    // A file system that reports no size reports no free space either.
    (total > 0).then(|| room_of(total, free))
}

/// The bytes that a spool may take of a disk of `total` bytes, of which `free` are free.
fn room_of(total: u64, free: u64) -> u64 {
    free.saturating_sub(RESERVE_MAX.min(total / RESERVE_FRACTION))
}

fn shown(directory: &Path) -> String {
    sanitised(directory.as_os_str().as_bytes())
}

fn cannot_write(error: io::Error) -> io::Error {
    about("write to", &error)
}

fn cannot_read(error: io::Error) -> io::Error {
    about("read from", &error)
}

fn about(what: &str, error: &io::Error) -> io::Error {
    let directory = shown(&tempfile::env::temp_dir());
    let why = strerror(error);
    let message = format!("cannot {what} a temporary file in '{directory}': {why}");
    io::Error::new(error.kind(), message)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};

    use super::{Spool, Spooled, room_of};

    fn spooled(max_memory: usize, pieces: &[&[u8]]) -> Spooled {
        let mut spool = Spool::new(max_memory);
        for piece in pieces {
            spool
                .write_all(piece)
                .expect("room in the temporary directory");
        }
        spool.finish().expect("room in the temporary directory")
    }

    #[test]
    fn bytes_come_back_from_memory_and_from_a_file() {
        for max_memory in [0, 3, 4, 5, 9, 10, 100] {
            let spooled = spooled(max_memory, &[b"0123", b"", b"4", b"56789"]);
            assert_eq!(spooled.size(), 10);
            for _ in 0..2 {
                let mut all = Vec::new();
                spooled.reader().read_to_end(&mut all).expect("readable");
                assert_eq!(all, b"0123456789", "{max_memory} bytes in memory");
            }
            let mut some = [0; 3];
            spooled.read_exact_at(&mut some, 7).expect("readable");
            assert_eq!(&some, b"789");
            let beyond = spooled.read_exact_at(&mut some, 8).unwrap_err();
            assert_eq!(beyond.kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut spool = Spool::new(1000);
        for _ in 0..1000 {
            spool
                .write_all(b"ten bytes.")
                .expect("room in the temporary directory");
            assert!(spool.memory.len() <= 1000);
        }
        assert_eq!(spool.memory.capacity(), 0, "the file has taken over");
        assert_eq!(spool.size(), 10_000);
    }

    #[test]
    fn what_fits_on_no_disk_is_refused_at_once() {
        let spool = Spool::new(1000);
        assert!(spool.check_room(1000).is_ok());
        let error = spool.check_room(u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        let message = error.to_string();
        assert!(
            message.starts_with("no room for 18446744073709551615 bytes"),
            "{message}"
        );
    }

    #[test]
    fn some_of_a_disk_is_left_to_others() {
        assert_eq!(room_of(1 << 40, 1 << 30), (1 << 30) - (64 << 20));
        assert_eq!(room_of(160, 100), 90);
        assert_eq!(room_of(160, 10), 0);
        assert_eq!(room_of(160, 3), 0);
    }
}
