//! Tar as our archives have it: POSIX ustar with pax extended headers, read strictly.
//!
//! A reader of our own, since a delta needs what the `tar` crate does not give: every record of a
//! global header with those that share a key, and the certainty that the end marker was there. It
//! knows the kinds of entry that git archives and refuses all others. It touches nothing but its
//! input, and allocates for no size that a header states but for that of an extended header, which is
//! below 1 MiB or refused.

use std::io::{BufRead, ErrorKind};

use crate::error::{Error, Result};

use super::{
    input::{incomplete, unreadable},
    pax::Extended,
};

const BLOCK: usize = 512;
/// What the records of one header may take.
const RECORDS_MAX: u64 = 1 << 20;

/// Where a header's fields lie.
mod field {
    use std::ops::Range;

    pub(super) const NAME: Range<usize> = 0..100;
    pub(super) const MODE: Range<usize> = 100..108;
    pub(super) const SIZE: Range<usize> = 124..136;
    pub(super) const CHECKSUM: Range<usize> = 148..156;
    pub(super) const TYPE: usize = 156;
    pub(super) const LINK: Range<usize> = 157..257;
    pub(super) const MAGIC: Range<usize> = 257..263;
    pub(super) const PREFIX: Range<usize> = 345..500;
}

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
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
        let item = match header[field::TYPE] {
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
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>> {
        self.body(|_| Ok(()))?;
        let block = self.block()?;
        if block == [0; BLOCK] {
            return self.end().map(|()| None);
        }
        if &block[field::MAGIC] != b"ustar\0" {
            return Err(damaged("no tar header where one has to be"));
        }
        let stated = octal(&block[field::CHECKSUM])?;
        if stated != checksum(&block) {
            return Err(damaged("a header's checksum is wrong"));
        }
        Ok(Some(block))
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
    fn records(&mut self, header: &[u8; BLOCK]) -> Result<Vec<u8>> {
        let size = octal(&header[field::SIZE])?;
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

    fn entry(&mut self, header: &[u8; BLOCK], extended: Extended) -> Result<Entry> {
        let size = match extended.size {
            Some(size) => size,
            None => octal(&header[field::SIZE])?,
        };
        self.begin(size);
        let kind = match header[field::TYPE] {
            b'0' => Kind::File {
                mode: mode(header)?,
                content: match extended.hole()? {
                    Some(hole) => self.hole(hole)?,
                    None => Content::Bytes(size),
                },
            },
            b'2' | b'5' if size > 0 => {
                return Err(damaged("something that is no file has content"));
            }
            b'2' => Kind::Symlink {
                target: match &extended.link {
                    Some(link) => link.clone(),
                    None => text(&header[field::LINK]).to_vec(),
                },
            },
            b'5' => Kind::Directory {
                mode: mode(header)?,
            },
            other => {
                let kind = other.escape_ascii();
                let what =
                    format!("an entry of kind '{kind}' is no file, directory or symbolic link");
                return Err(damaged(&what));
            }
        };
        let path = extended.path.unwrap_or_else(|| ustar_path(header));
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
        let is_hole = text(&map) == format!("1\n{size}\n0\n").as_bytes();
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

/// What is in the archive is not sound, or not safe.
pub(super) fn damaged(what: &str) -> Error {
    Error::fatal(format!("the archive cannot be applied: {what}"))
}

fn ustar_path(header: &[u8; BLOCK]) -> Vec<u8> {
    let (prefix, name) = (text(&header[field::PREFIX]), text(&header[field::NAME]));
    match prefix {
        b"" => name.to_vec(),
        _ => [prefix, name].join(&b'/'),
    }
}

/// The permissions, without the bits that run a program as somebody else.
fn mode(header: &[u8; BLOCK]) -> Result<u32> {
    let bits = octal(&header[field::MODE])? & 0o777;
    u32::try_from(bits).map_err(|_| damaged("a number in a header is malformed"))
}

/// Up to the first NUL.
fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|&byte| byte == 0);
    &field[..end.unwrap_or(field.len())]
}

/// Octal digits, with spaces in front and spaces or NULs behind.
fn octal(field: &[u8]) -> Result<u64> {
    let field = field.trim_ascii_start();
    let end = field.iter().position(|byte| matches!(byte, b' ' | 0));
    let (digits, rest) = field.split_at(end.unwrap_or(field.len()));
    let sound = !digits.is_empty()
        && digits.iter().all(|digit| matches!(digit, b'0'..=b'7'))
        && rest.iter().all(|byte| matches!(byte, b' ' | 0));
    if !sound {
        return Err(damaged("a number in a header is malformed"));
    }
    let digit = |sum: u64, digit: &u8| sum << 3 | u64::from(digit - b'0');
    Ok(digits.iter().fold(0, digit))
}

/// The sum of all bytes, with spaces for the sum itself.
fn checksum(header: &[u8; BLOCK]) -> u64 {
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let own = &header[field::CHECKSUM];
    sum(header) - sum(own) + own.len() as u64 * u64::from(b' ')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Content, Item, Kind, Reader};
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
        tar.directory(&member(b"d/", emit::Kind::Directory), &mut part);
        let file = member(b"d/f", emit::Kind::Executable);
        let begun = tar.begin_file(&file, &mut part);
        part.bytes.extend(b"content");
        tar.end_file(&mut (), begun, &file, Layout::Whole, &mut part);
        tar.symlink(&member(&long, emit::Kind::Symlink), &long, &mut part);
        let mut archive = [&head[..], &part.bytes].concat();
        tar.end((), archive.len() as u64, &mut |end| {
            archive.extend_from_slice(end);
            Ok(())
        })
        .expect("nothing that could fail");
        archive
    }

    type Found = (Vec<u8>, Kind, Vec<u8>);

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
        let file = Kind::File {
            mode: 0o775,
            content: Content::Bytes(7),
        };
        let expected = vec![
            (b"d/".to_vec(), Kind::Directory { mode: 0o775 }, Vec::new()),
            (b"d/f".to_vec(), file, b"content".to_vec()),
            (long, Kind::Symlink { target }, Vec::new()),
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
                    let block = archive[header..header + 512].try_into().expect("a block");
                    let sum = format!("{:07o}", super::checksum(block));
                    archive[header + 148..][..7].copy_from_slice(sum.as_bytes());
                }
            }
            read(&archive);
        }
    }
}
