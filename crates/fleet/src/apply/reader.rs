//! Reads tar in the form of git-sluice's archives, strictly: POSIX ustar with pax extended headers.
//!
//! `tar::Header` reads the fields of a header. The rest is own code, since `tar::Archive` ends pax values
//! at a newline, in global headers too, reads extended headers of any length into memory, and accepts an
//! archive without its end marker. This reader refuses extended headers from 1 MiB on, and allocates
//! nothing else by a stated size. It refuses all entry types that git does not archive. It touches nothing
//! but its input.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};
use tar::Header;

use sluice_base::{
    error::{Error, Result},
    io::uninterrupted,
};

use super::{
    input::{damaged, incomplete, unreadable},
    pax::Extended,
};

const BLOCK: usize = 512;
/// The place in a header that tells a tar of POSIX or GNU.
const MAGIC: std::ops::Range<usize> = 257..262;
/// The limit of the records of one header, in bytes.
const RECORDS_MAX: u64 = 1 << 20;
/// The bytes that are read at once. Content up to this length comes in one piece.
const READ_LEN: usize = 128 << 10;

/// The next item of an archive.
#[derive(Debug)]
pub(super) enum Item {
    /// The raw records of a global header.
    Global(Vec<u8>),
    /// A directory, a file or a symbolic link.
    Entry(ArchiveEntry),
}

/// An entry. The content of a file is read separately.
#[derive(Debug)]
pub(super) struct ArchiveEntry {
    /// The path in the archive, unchecked.
    pub(super) path: Vec<u8>,
    pub(super) kind: ItemKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Directory { mode: u32 },
    File { mode: u32, content: Content },
    Symlink { target: Vec<u8> },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// This many bytes, which [`ArchiveReader::piece`] reads.
    Bytes(u64),
    /// This many zeros, which are not in the archive.
    Hole(u64),
}

/// Reads one archive.
pub(super) struct ArchiveReader<R> {
    input: R,
    /// The bytes that come next, as far as they are in memory.
    ahead: Bytes,
    /// All buffers that were read into. A buffer is read into again when no thread holds a piece of its content. So there are
    /// no more of them than orders on their way need, which the batches bound.
    buffers: Vec<Bytes>,
    /// The byte of the archive at which `ahead` begins.
    position: u64,
    /// The bytes to come of the last entry, and the padding of its last block.
    body: u64,
    padding: u64,
}

impl<R: Read> ArchiveReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            ahead: Bytes::new(),
            buffers: Vec::new(),
            position: 0,
            body: 0,
            padding: 0,
        }
    }

    /// The next item. `None` after the end marker, which only zeros may follow.
    pub(super) fn next(&mut self) -> Result<Option<Item>> {
        let Some(header) = self.header()? else {
            return Ok(None);
        };
        let item = match kind(&header) {
            b'g' => Item::Global(self.records(&header)?),
            b'x' => {
                let extended = Extended::read(&self.records(&header)?)?;
                let header = self.header()?;
                let header = header.ok_or_else(|| damaged("an extended header has no entry"))?;
                Item::Entry(self.entry(&header, extended)?)
            }
            _ => Item::Entry(self.entry(&header, Extended::default())?),
        };
        Ok(Some(item))
    }

    /// The next piece of the content of the current entry. `None` at its end.
    pub(super) fn piece(&mut self) -> Result<Option<Bytes>> {
        if self.body == 0 {
            return Ok(None);
        }
        let len = self.body.min(READ_LEN as u64);
        self.body -= len;
        self.take(len as usize).map(Some)
    }

    /// The byte of the archive at which the next header or the rest of the content begins.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Read to the end, so that the writer of a pipe does not fail.
    pub(super) fn drain(mut self) {
        let _ = std::io::copy(&mut self.input, &mut std::io::sink());
    }

    /// The next header, after the rest of the previous entry.
    fn header(&mut self) -> Result<Option<Header>> {
        while self.piece()?.is_some() {}
        self.take(self.padding as usize)?;
        self.padding = 0;
        if self.position == 0 {
            self.check_beginning()?;
        }
        let block = self.take(BLOCK)?;
        if is_zero(&block) {
            return self.end().map(|()| None);
        }
        let header = Header::from_byte_slice(&block).clone();
        if header.as_gnu().is_some() {
            return Err(damaged(
                "it is in the format of GNU tar, and git writes that of POSIX",
            ));
        }
        if header.as_ustar().is_none() {
            return Err(damaged("no tar header where one has to be"));
        }
        let mut right = header.clone();
        right.set_cksum();
        if number(header.cksum())? != number(right.cksum())? {
            return Err(damaged("a header's checksum is wrong"));
        }
        Ok(Some(header))
    }

    /// Tell nothing, and what is no tar, from an archive that was cut.
    fn check_beginning(&mut self) -> Result<()> {
        self.fill(BLOCK)?;
        match &self.ahead[..] {
            [] => Err(Error::fatal("the archive is empty")
                .caused_by("the program that writes it may have failed")),
            begin if is_like_tar(begin) => Ok(()),
            _ => Err(Error::fatal("this is no archive")
                .caused_by("it does not begin like a tar, a tar.gz or a tar.zst")),
        }
    }

    /// Check that only zeros follow the first zero block. Reading to the very end lets a decompressor
    /// verify checksums.
    fn end(&mut self) -> Result<()> {
        let mut zeros = self.take(BLOCK)?;
        loop {
            if !is_zero(&zeros) {
                return Err(damaged("something follows its end"));
            }
            self.fill(1)?;
            if self.ahead.is_empty() {
                return Ok(());
            }
            zeros = std::mem::take(&mut self.ahead);
        }
    }

    /// The next `len` bytes, at most [`READ_LEN`].
    fn take(&mut self, len: usize) -> Result<Bytes> {
        self.fill(len)?;
        if self.ahead.len() < len {
            Err(incomplete())
        } else {
            self.position += len as u64;
            Ok(self.ahead.split_to(len))
        }
    }

    /// Reads the next `len` bytes, at most [`READ_LEN`], or as many as there are.
    fn fill(&mut self, len: usize) -> Result<()> {
        if self.ahead.len() >= len {
            return Ok(());
        }
        let mut buffer = self.buffer();
        let mut filled = self.ahead.len();
        buffer[..filled].copy_from_slice(&self.ahead);
        while filled < buffer.len() {
            let read = uninterrupted(|| self.input.read(&mut buffer[filled..]));
            match read.map_err(unreadable)? {
                0 => break,
                read => filled += read,
            }
        }
        let buffer = buffer.freeze();
        self.ahead = buffer.slice(..filled);
        self.buffers.push(buffer);
        Ok(())
    }

    /// A buffer of [`READ_LEN`] bytes whose content no thread holds: a used one, or else a new one.
    fn buffer(&mut self) -> BytesMut {
        let free = self.buffers.iter().rposition(Bytes::is_unique);
        let free = free.map(|free| self.buffers.swap_remove(free));
        free.and_then(|free| free.try_into_mut().ok())
            .unwrap_or_else(|| BytesMut::zeroed(READ_LEN))
    }

    /// The records of an extended header.
    fn records(&mut self, header: &Header) -> Result<Vec<u8>> {
        let size = size(header)?;
        if size >= RECORDS_MAX {
            return Err(damaged("an extended header is too large"));
        }
        self.begin(size);
        let mut records = Vec::new();
        while let Some(piece) = self.piece()? {
            records.extend_from_slice(&piece);
        }
        Ok(records)
    }

    fn entry(&mut self, header: &Header, extended: Extended) -> Result<ArchiveEntry> {
        let size = match extended.size {
            Some(size) => size,
            None => size(header)?,
        };
        self.begin(size);
        let kind = match kind(header) {
            b'0' => ItemKind::File {
                mode: mode(header)?,
                content: match extended.hole()? {
                    Some(hole) => self.hole(hole)?,
                    None => Content::Bytes(size),
                },
            },
            b'2' | b'5' if size > 0 => {
                return Err(damaged("something that is no file has content"));
            }
            b'2' => ItemKind::Symlink {
                target: match extended.link {
                    Some(link) => link,
                    None => header.link_name_bytes().unwrap_or_default().into_owned(),
                },
            },
            b'5' => ItemKind::Directory {
                mode: mode(header)?,
            },
            other => {
                let kind = other.escape_ascii();
                let what =
                    format!("an entry of kind '{kind}' is no file, directory or symbolic link");
                return Err(damaged(what));
            }
        };
        let in_header = || header.path_bytes().into_owned();
        let path = extended.path.unwrap_or_else(in_header);
        Ok(ArchiveEntry { path, kind })
    }

    fn begin(&mut self, size: u64) {
        self.body = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    /// Check that the map of a sparse file describes one hole of `size` bytes.
    fn hole(&mut self, size: u64) -> Result<Content> {
        let refused = || damaged("a sparse file has content");
        if self.body != BLOCK as u64 {
            return Err(refused());
        }
        let map = self.take(BLOCK)?;
        self.begin(0);
        let expected = format!("1\n{size}\n0\n");
        let end = map.strip_prefix(expected.as_bytes());
        let is_hole = end.is_some_and(|end| end.first() == Some(&0));
        is_hole.then_some(Content::Hole(size)).ok_or_else(refused)
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// Whether `begin` may be the beginning of a tar: a header, or one that is cut, whose name ends with NULs.
fn is_like_tar(begin: &[u8]) -> bool {
    match begin.get(MAGIC) {
        Some(magic) => magic == b"ustar" || is_zero(begin),
        None => begin.contains(&0),
    }
}

/// The stored type: [`Header::entry_type`] takes a NUL for a file.
fn kind(header: &Header) -> u8 {
    header.as_old().linkflag[0]
}

/// The size in octal digits. The crate would also read GNU tar's binary numbers.
fn size(header: &Header) -> Result<u64> {
    match header.as_old().size[0] {
        0x80.. => Err(malformed()),
        _ => number(header.entry_size()),
    }
}

/// The permissions, without the setuid, setgid and sticky bits.
fn mode(header: &Header) -> Result<u32> {
    Ok(number(header.mode())? & 0o777)
}

fn number<N>(field: io::Result<N>) -> Result<N> {
    field.map_err(|_| malformed())
}

fn malformed() -> Error {
    damaged("a number in a header is malformed")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ArchiveReader, Content, Item, ItemKind};
    use sluice_base::buffer::Buffer;
    use sluice_format as format;
    use sluice_format::{
        Format, Layout, Member, Part,
        tar::{Globals, Tar},
    };

    /// An archive with a comment, a directory, a file, and a link with long names.
    fn archive() -> Vec<u8> {
        let tar = Tar {
            mtime: 68_719_476_737,
            umask: 0o002,
            comment: Some("a".repeat(40)),
            globals: Globals::default(),
        };
        let member = |name, kind| Member {
            name,
            kind,
            id: b"\x01",
            text: None,
            vendor: &[],
        };
        let long = [&b"d/"[..], &b"n".repeat(300)].concat();
        let mut head = Buffer::default();
        tar.head(&mut head);
        let mut part = Part::default();
        tar.directory(&member(b"d/", format::MemberKind::Directory), &mut part);
        let file = member(b"d/f", format::MemberKind::Executable);
        let begun = tar.begin_file(&file, &mut part);
        part.bytes.extend(b"content");
        tar.end_file(&mut (), begun, &file, Layout::Whole, &mut part);
        tar.symlink(
            &member(&long, format::MemberKind::Symlink),
            &long,
            &mut part,
        );
        let mut archive = [&head[..], &part.bytes].concat();
        tar.end((), archive.len() as u64, &mut |end| {
            archive.extend_from_slice(end);
            Ok(())
        })
        .expect("nothing that could fail");
        archive
    }

    type ReadItem = (Vec<u8>, ItemKind, Vec<u8>);

    /// The names and contents before the first error, and whether the archive is sound.
    fn read(bytes: &[u8]) -> (Vec<ReadItem>, bool) {
        let mut reader = ArchiveReader::new(bytes);
        let mut found = Vec::new();
        loop {
            let (path, kind) = match reader.next() {
                Ok(Some(Item::Entry(entry))) => (entry.path, entry.kind),
                Ok(Some(Item::Global(_))) => continue,
                end => return (found, end.is_ok()),
            };
            let mut body = Vec::new();
            loop {
                match reader.piece() {
                    Ok(Some(piece)) => body.extend_from_slice(&piece),
                    Ok(None) => break,
                    Err(_) => return (found, false),
                }
            }
            found.push((path, kind, body));
        }
    }

    #[test]
    fn what_we_write_is_read() {
        let long = [&b"d/"[..], &b"n".repeat(300)].concat();
        let target = long.clone();
        let file = ItemKind::File {
            mode: 0o775,
            content: Content::Bytes(7),
        };
        let expected = vec![
            (
                b"d/".to_vec(),
                ItemKind::Directory { mode: 0o775 },
                Vec::new(),
            ),
            (b"d/f".to_vec(), file, b"content".to_vec()),
            (long, ItemKind::Symlink { target }, Vec::new()),
        ];
        assert_eq!(read(&archive()), (expected, true));
    }

    #[test]
    fn an_archive_without_its_end_is_none() {
        let archive = archive();
        let end = archive
            .iter()
            .rposition(|&byte| byte != 0)
            .expect("not all are zeros");
        let end = end.next_multiple_of(512) + 1024;
        for len in 0..end {
            assert!(!read(&archive[..len]).1, "{len}");
        }
        assert!(read(&archive[..end]).1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        #[test]
        fn nothing_makes_it_panic(
            changes in proptest::collection::vec((0..5000_usize, any::<u8>()), 1..4),
            right in any::<bool>(),
        ) {
            let mut archive = archive();
            for (at, byte) in changes {
                archive[at] = byte;
                let header = at / 512 * 512;
                if right && archive[header + 257..].starts_with(b"ustar") {
                    let block = &mut archive[header..header + 512];
                    let mut right = super::Header::from_byte_slice(block).clone();
                    right.set_cksum();
                    block.copy_from_slice(right.as_bytes());
                }
            }
            read(&archive);
        }
    }
}
