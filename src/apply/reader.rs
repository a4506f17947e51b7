//! Tar as our archives have it: POSIX ustar with pax extended headers, read strictly.
//!
//! The fields of a header are read by `tar::Header`. The rest is read by hand, since `tar::Archive` ends
//! pax values at a newline, in global headers as in others, reads extended headers of any length into
//! memory, and takes an archive without its end marker for complete. Here an extended header is below
//! 1 MiB or refused, and nothing else is allocated for a size that a header states. The reader knows the
//! kinds of entry that git archives and refuses all others. It touches nothing but its input.

use std::io::{self, BufRead, ErrorKind};

use tar::Header;

use crate::error::{Error, Result};

use super::{
    input::{damaged, incomplete, unreadable},
    pax::Extended,
};

const BLOCK: usize = 512;
/// What the records of one header may take.
const RECORDS_MAX: u64 = 1 << 20;

/// The next thing in an archive.
#[derive(Debug)]
pub(super) enum Item {
    /// The records of a global header, as they are.
    Global(Vec<u8>),
    /// A directory, a file or a symbolic link.
    Entry(Entry),
}

/// An entry; the content of a file is still to be read.
#[derive(Debug)]
pub(super) struct Entry {
    /// As the archive has it, not checked.
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
    /// So many bytes, which [`Reader::body`] gives.
    Bytes(u64),
    /// So many zeros, which are not in the archive.
    Hole(u64),
}

/// Reads one archive.
pub(super) struct Reader<R> {
    input: R,
    /// What of the last entry is not read yet, and what fills its last block.
    body: u64,
    padding: u64,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            body: 0,
            padding: 0,
        }
    }

    /// What comes next; nothing after the end marker, behind which there is nothing but zeros.
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

    /// The content of the entry just read, in pieces.
    pub(super) fn body(&mut self, mut sink: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while self.body > 0 {
            let left = usize::try_from(self.body).unwrap_or(usize::MAX);
            let piece = fill(&mut self.input)?;
            let piece = &piece[..piece.len().min(left)];
            sink(piece)?;
            let len = piece.len();
            self.input.consume(len);
            self.body -= len as u64;
        }
        while self.padding > 0 {
            let len = fill(&mut self.input)?.len().min(self.padding as usize);
            self.input.consume(len);
            self.padding -= len as u64;
        }
        Ok(())
    }

    /// Read to the end, so that nobody who still writes dies of it.
    pub(super) fn drain(mut self) {
        let _ = std::io::copy(&mut self.input, &mut std::io::sink());
    }

    /// The next header, behind what is left of the entry before it.
    fn header(&mut self) -> Result<Option<Header>> {
        self.body(|_| Ok(()))?;
        let block = self.block()?;
        if block == [0; BLOCK] {
            return self.end().map(|()| None);
        }
        let header = Header::from_byte_slice(&block).clone();
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

    fn block(&mut self) -> Result<[u8; BLOCK]> {
        let mut block = [0; BLOCK];
        self.input.read_exact(&mut block).map_err(unreadable)?;
        Ok(block)
    }

    /// One block of zeros was seen; all else has to be zeros too. Reading on to the very end lets a
    /// decompressor compare check sums.
    fn end(&mut self) -> Result<()> {
        let mut rest = [0; BLOCK];
        let mut next = self.block()?;
        loop {
            if next != [0; BLOCK] {
                return Err(damaged("something follows its end"));
            }
            let read = self.at_most(&mut rest)?;
            if read == 0 {
                return Ok(());
            }
            next = [0; BLOCK];
            next[..read].copy_from_slice(&rest[..read]);
        }
    }

    fn at_most(&mut self, into: &mut [u8]) -> Result<usize> {
        loop {
            match self.input.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read.map_err(unreadable),
            }
        }
    }

    /// The records behind the header of an extended header.
    fn records(&mut self, header: &Header) -> Result<Vec<u8>> {
        let size = size(header)?;
        if size >= RECORDS_MAX {
            return Err(damaged("an extended header is too large"));
        }
        self.begin(size);
        let mut records = Vec::new();
        self.body(|piece| {
            records.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(records)
    }

    fn entry(&mut self, header: &Header, extended: Extended) -> Result<Entry> {
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
        Ok(Entry { path, kind })
    }

    fn begin(&mut self, size: u64) {
        self.body = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    /// The map of a sparse file has to say that there is nothing but a hole of `size` bytes.
    fn hole(&mut self, size: u64) -> Result<Content> {
        let refused = || damaged("a sparse file has content");
        if self.body != BLOCK as u64 {
            return Err(refused());
        }
        let map = self.block()?;
        self.begin(0);
        let expected = format!("1\n{size}\n0\n");
        let end = map.strip_prefix(expected.as_bytes());
        let is_hole = end.is_some_and(|end| end.first() == Some(&0));
        is_hole.then_some(Content::Hole(size)).ok_or_else(refused)
    }
}

/// At least one byte.
fn fill<R: BufRead>(input: &mut R) -> Result<&[u8]> {
    while let Err(error) = input.fill_buf() {
        if error.kind() != ErrorKind::Interrupted {
            return Err(unreadable(error));
        }
    }
    let piece = input.fill_buf().map_err(unreadable)?;
    (!piece.is_empty()).then_some(piece).ok_or_else(incomplete)
}

/// The kind as it stands there: [`Header::entry_type`] takes a NUL for a file.
fn kind(header: &Header) -> u8 {
    header.as_old().linkflag[0]
}

/// The size, of digits: the crate reads the binary numbers of GNU tar as well.
fn size(header: &Header) -> Result<u64> {
    match header.as_old().size[0] {
        0x80.. => Err(malformed()),
        _ => number(header.entry_size()),
    }
}

/// The permissions, without the bits that run a program as somebody else.
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

    use super::{Content, Item, ItemKind, Reader};
    use crate::{
        buffer::Buffer,
        emit::{
            self, Format, Layout, Member, Part,
            tar::{Globals, Tar},
        },
    };

    /// What we write: a comment, a directory, a file, and a link with long names.
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
        tar.directory(&member(b"d/", emit::MemberKind::Directory), &mut part);
        let file = member(b"d/f", emit::MemberKind::Executable);
        let begun = tar.begin_file(&file, &mut part);
        part.bytes.extend(b"content");
        tar.end_file(&mut (), begun, &file, Layout::Whole, &mut part);
        tar.symlink(&member(&long, emit::MemberKind::Symlink), &long, &mut part);
        let mut archive = [&head[..], &part.bytes].concat();
        tar.end((), archive.len() as u64, &mut |end| {
            archive.extend_from_slice(end);
            Ok(())
        })
        .expect("nothing that could fail");
        archive
    }

    type Found = (Vec<u8>, ItemKind, Vec<u8>);

    /// Names and contents up to the end, or as far as it is sound.
    fn read(bytes: &[u8]) -> (Vec<Found>, bool) {
        let mut reader = Reader::new(bytes);
        let mut found = Vec::new();
        loop {
            let (path, kind) = match reader.next() {
                Ok(Some(Item::Entry(entry))) => (entry.path, entry.kind),
                Ok(Some(Item::Global(_))) => continue,
                end => return (found, end.is_ok()),
            };
            let mut body = Vec::new();
            let all = reader.body(|piece| {
                body.extend_from_slice(piece);
                Ok(())
            });
            if all.is_err() {
                return (found, false);
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
