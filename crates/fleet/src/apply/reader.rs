//! Reads tar in the form of git-sluice's archives, strictly: a subset of what `compare` reads without a doubt.
//!
//! The subset is POSIX ustar with pax extended headers, and the entry types that git archives. This reader refuses extended
//! headers from 1 MiB on. It touches only its input.

use std::io::Read;

use bytes::Bytes;

use sluice_base::error::{Error, Result};
use sluice_format::unarchive::{Kind, TarEntry, TarError, TarItem, TarReader};

use super::input::{damaged, incomplete, unfit, unreadable};

const BLOCK: u64 = 512;
/// The place in a header that tells a tar of POSIX or GNU.
const MAGIC: std::ops::Range<usize> = 257..262;
/// The limit of the records of one header, in bytes.
const RECORDS_MAX: u64 = 1 << 20;

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
    /// Why other programs may write something else.
    pub(super) doubt: Option<&'static str>,
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

/// Reads one archive, from wherever it comes.
pub(super) type BoxedReader<'a> = ArchiveReader<Box<dyn Read + 'a>>;

/// Reads one archive.
pub(super) struct ArchiveReader<R> {
    tar: TarReader<R>,
    is_begun: bool,
}

impl<R: Read> ArchiveReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            tar: TarReader::new(input, RECORDS_MAX),
            is_begun: false,
        }
    }

    /// The next item. `None` after the end marker, which only zeros may follow.
    pub(super) fn next(&mut self) -> Result<Option<Item>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.check_beginning()?;
        }
        loop {
            return match self.tar.next_item().map_err(failed)? {
                Some(TarItem::Zeros) => continue,
                Some(TarItem::Doubt(_, reason)) => Err(unfit(reason)),
                Some(TarItem::Global(records)) => Ok(Some(Item::Global(records))),
                Some(TarItem::Entry(entry)) => {
                    archive_entry(*entry).map(|entry| Some(Item::Entry(entry)))
                }
                None if self.tar.end_len() < 2 * BLOCK => Err(incomplete()),
                None => Ok(None),
            };
        }
    }

    /// The next piece of the content of the current entry. `None` at its end.
    pub(super) fn piece(&mut self) -> Result<Option<Bytes>> {
        self.tar.piece().map_err(failed)
    }

    /// The byte of the archive at which the next header or the rest of the content begins.
    pub(super) fn position(&self) -> u64 {
        self.tar.position()
    }

    /// Read to the end, so that the writer of a pipe does not fail.
    pub(super) fn drain(mut self) {
        let _ = self.tar.drain();
    }

    /// Tell nothing, and what is no tar, from an archive that was cut.
    fn check_beginning(&mut self) -> Result<()> {
        match self.tar.beginning().map_err(failed)? {
            [] => Err(Error::fatal("the archive is empty")
                .caused_by("the program that writes it may have failed")),
            begin if !is_like_tar(begin) => Err(no_archive()),
            begin if (begin.len() as u64) < BLOCK => Err(incomplete()),
            _ => Ok(()),
        }
    }
}

/// Takes `entry`, unless git writes no such entries.
fn archive_entry(entry: TarEntry) -> Result<ArchiveEntry> {
    let header = &entry.header;
    if header.as_gnu().is_some() {
        return Err(unfit(
            "it is in the format of GNU tar, and git writes that of POSIX",
        ));
    }
    if header.as_ustar().is_none() {
        return Err(unfit("no tar header where one has to be"));
    }
    let mode = entry.mode & 0o777;
    let kind = match (header.as_old().linkflag[0], entry.kind) {
        (b'0', Kind::File) => ItemKind::File {
            mode,
            content: match entry.hole {
                Some(hole) => Content::Hole(hole),
                None => Content::Bytes(entry.size),
            },
        },
        // The path is refused for its slash.
        (b'0', _) => ItemKind::File {
            mode,
            content: Content::Bytes(0),
        },
        (b'2', _) => ItemKind::Symlink { target: entry.link },
        (b'5', _) => ItemKind::Directory { mode },
        (other, _) => {
            let kind = other.escape_ascii();
            let what = format!("an entry of kind '{kind}' is no file, directory or symbolic link");
            return Err(unfit(what));
        }
    };
    Ok(ArchiveEntry {
        path: entry.path,
        kind,
        doubt: entry.doubt,
    })
}

/// Whether `begin` may be the beginning of a tar: a header, or one that is cut, whose name ends with NULs.
fn is_like_tar(begin: &[u8]) -> bool {
    match begin.get(MAGIC) {
        Some(magic) => magic == b"ustar" || begin.iter().all(|&byte| byte == 0),
        None => begin.contains(&0),
    }
}

fn failed(error: TarError) -> Error {
    match error {
        TarError::Input(error) => unreadable(error),
        TarError::Cut => incomplete(),
        TarError::NoTar => damaged("a header's checksum is wrong"),
        TarError::Malformed(what) => damaged(what),
    }
}

fn no_archive() -> Error {
    Error::fatal("this is no archive")
        .caused_by("it does not begin like a tar, a tar.gz or a tar.zst")
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
                    let mut right = tar::Header::from_byte_slice(block).clone();
                    right.set_cksum();
                    block.copy_from_slice(right.as_bytes());
                }
            }
            read(&archive);
        }
    }
}
