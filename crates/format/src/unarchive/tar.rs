//! Reads tar in every dialect that readers accept: v7, ustar, pax, GNU.
//!
//! `tar::Header` reads the fields of a header. The rest is own code, because `tar::Archive` reads extended headers of any
//! length into memory, stops at the first end marker, and hides which of two names of an entry it takes.

use std::{
    io::{self, Read},
    ops::Range,
};

use tar::Header;

use super::{
    damage::{damaged, unreadable},
    item::{Item, Kind, Visitor},
    pax::{decimal, records},
    sparse::{Map, Sparse},
};
use sluice_base::error::{Error, Result};

const BLOCK: usize = 512;
/// The limit of the names and records of one entry, in bytes.
const NAMES_MAX: u64 = 16 << 20;
/// The limit of all holes together. They cost an archive nothing, and the reader time.
const HOLES_MAX: u64 = 16 << 30;
/// The fields of a header that are numbers: permissions, owner, group, size, time, checksum, device (tar(5)).
const NUMBERS: [Range<usize>; 8] = [
    100..108,
    108..116,
    116..124,
    124..136,
    136..148,
    148..156,
    329..337,
    337..345,
];
/// Where the directories of a name are that is longer than its field, if the header is one of ustar.
const PREFIX_AT: usize = 345;
/// The words for a name that another header of the same entry states, too.
const TWO_NAMES: &str = "two headers state its name";

/// Reads the tar in `input`, to its last byte.
pub(super) fn read(input: &mut dyn Read, visitor: &mut dyn Visitor) -> Result<()> {
    let mut reader = TarReader {
        input,
        visitor,
        next: Extended::default(),
        holes: 0,
        is_begun: false,
        has_ended: false,
    };
    while let Some(block) = reader.header()? {
        reader.member(Header::from_byte_slice(&block))?;
    }
    Ok(())
}

struct TarReader<'a> {
    input: &'a mut dyn Read,
    visitor: &'a mut dyn Visitor,
    /// What the headers before the next entry say of it.
    next: Extended,
    /// The holes in all files so far, in bytes.
    holes: u64,
    is_begun: bool,
    /// Whether an end marker was read.
    has_ended: bool,
}

/// What extended headers say of the entry after them.
#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    /// The version of a sparse file in records: 1.0 has its map before the data.
    sparse_major: Option<u64>,
    sparse: Option<Map>,
    /// Whether readers may take another name.
    has_two_names: bool,
}

impl Extended {
    fn set_path(&mut self, path: &[u8]) {
        self.has_two_names |= self.path.is_some() || path.contains(&0);
        self.path = Some(path.to_vec());
    }

    fn set_link(&mut self, link: &[u8]) {
        self.has_two_names |= self.link.is_some() || link.contains(&0);
        self.link = Some(link.to_vec());
    }

    /// Adds the records of a pax header.
    fn add(&mut self, header: &[u8]) -> Result<()> {
        let (mut sparse_name, mut offset) = (None, None);
        let mut path_len = 0;
        for record in records(header) {
            let record = record.ok_or_else(|| damaged("a record of a pax header is malformed"));
            let (key, value) = record?;
            let number = || decimal(value).ok_or_else(|| damaged("a pax header has a bad number"));
            match key {
                b"path" => {
                    self.set_path(value);
                    path_len += 1;
                }
                b"linkpath" => self.set_link(value),
                b"size" => self.size = Some(number()?),
                b"GNU.sparse.name" => sparse_name = Some(value),
                b"GNU.sparse.major" => self.sparse_major = Some(number()?),
                b"GNU.sparse.realsize" | b"GNU.sparse.size" => self.map().size = number()?,
                b"GNU.sparse.map" => self.map().add_numbers(value)?,
                b"GNU.sparse.offset" => offset = Some(value.to_vec()),
                b"GNU.sparse.numbytes" => {
                    let offset = offset.take().unwrap_or_default();
                    self.map()
                        .add_numbers(&[&offset[..], b",", value].concat())?;
                }
                _ => {}
            }
        }
        if let Some(name) = sparse_name {
            // The other name is for readers without support of sparse files.
            self.has_two_names = path_len > 1;
            self.path = Some(name.to_vec());
        }
        Ok(())
    }

    fn map(&mut self) -> &mut Map {
        self.sparse.get_or_insert_default()
    }
}

impl TarReader<'_> {
    /// The next block, unless the input ends before its first byte.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.input.read(&mut block[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
        self.visitor.frame(&block[..filled]);
        match filled {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            // After the end, a part of a block is as good as a whole one.
            _ if self.has_ended => Ok(Some(block)),
            _ if !self.is_begun => Err(no_archive()),
            _ => Err(damaged("it ends inside a block")),
        }
    }

    /// The next header. `None` after the end marker, which other archives may follow.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>> {
        while let Some(block) = self.block()? {
            if block == [0; BLOCK] {
                self.has_ended = true;
                continue;
            }
            let is_header = is_header(&block);
            if self.has_ended {
                self.visitor
                    .doubt(b"", "data after the end of the archive")?;
                self.has_ended = !is_header;
                if !is_header {
                    self.drain()?;
                    return Ok(None);
                }
            }
            return match (is_header, self.is_begun) {
                (true, _) => Ok(Some(block)),
                (false, true) => Err(damaged("the checksum of a header is wrong")),
                (false, false) => Err(no_archive()),
            };
        }
        match (self.has_ended, self.is_begun) {
            (true, _) => Ok(None),
            (false, true) => Err(damaged("it ends too early")),
            (false, false) => Err(no_archive()),
        }
    }

    /// Reads what `header` begins.
    fn member(&mut self, header: &Header) -> Result<()> {
        self.is_begun = true;
        let mut numbers = NUMBERS.into_iter().map(|field| &header.as_bytes()[field]);
        if !numbers.all(is_number) {
            // Some readers take it for the end of the archive.
            self.visitor
                .doubt(&header.path_bytes(), "a number of its header is malformed")?;
        }
        if header.as_ustar().is_none() && header.as_bytes()[PREFIX_AT] != 0 {
            // Python's tarfile reads it in a header of any kind.
            self.visitor.doubt(
                &header.path_bytes(),
                "its header has a prefix of another format",
            )?;
        }
        match header.as_old().linkflag[0] {
            b'g' => {
                let records = self.names(header)?;
                self.global(&records)
            }
            b'x' | b'X' => {
                let records = self.names(header)?;
                self.next.add(&records)
            }
            b'L' => {
                let name = self.names(header)?;
                self.next.set_path(until_nul(&name));
                Ok(())
            }
            b'K' => {
                let link = self.names(header)?;
                self.next.set_link(until_nul(&link));
                Ok(())
            }
            flag => self.entry(header, flag),
        }
    }

    fn global(&mut self, header: &[u8]) -> Result<()> {
        for record in records(header) {
            let record = record.ok_or_else(|| damaged("a record of a pax header is malformed"));
            match record? {
                (b"comment", comment) => self.visitor.comment(comment),
                (b"path" | b"linkpath" | b"size", _) => {
                    let doubt = "a header for all entries states a path or a size";
                    self.visitor.doubt(b"", doubt)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn entry(&mut self, header: &Header, flag: u8) -> Result<()> {
        let mut next = std::mem::take(&mut self.next);
        let stated = match next.size {
            Some(size) => size,
            None => header.entry_size().map_err(|_| malformed())?,
        };
        let in_header = || header.path_bytes().into_owned();
        let path = next.path.take().unwrap_or_else(in_header);
        let in_header = || header.link_name_bytes().unwrap_or_default().into_owned();
        let link = next.link.take().unwrap_or_else(in_header);
        let kind = match flag {
            // In v7, the name alone tells a directory.
            b'0' | 0 | b'7' if path.ends_with(b"/") => Kind::Directory,
            b'0' | 0 | b'7' | b'S' => Kind::File,
            b'1' => Kind::HardLink,
            b'2' => Kind::Symlink,
            b'5' | b'D' => Kind::Directory,
            _ => Kind::Special,
        };
        if next.has_two_names {
            self.visitor.doubt(&path, TWO_NAMES)?;
        }
        if kind == Kind::Directory && matches!(flag, b'0' | b'7') {
            self.visitor.doubt(
                &path,
                "its header is that of a file, its name that of a directory",
            )?;
        }
        // Readers continue after the content of these, or take it for headers.
        let is_bare = matches!(kind, Kind::HardLink | Kind::Symlink) || flag == b'5';
        if is_bare && stated > 0 {
            self.visitor
                .doubt(&path, "something that is no file has content")?;
        }
        let body = if is_bare { 0 } else { stated };
        let sparse = match flag {
            b'S' => Some(self.old_map(header)?),
            _ => next.sparse.take(),
        };
        let item = Item {
            path: &path,
            kind,
            mode: header.mode().map_err(|_| malformed())? & 0o7777,
            size: body,
            link: &link,
            header: Some(header),
        };
        match sparse {
            None => self.content(&item, body, None),
            Some(map) => self.sparse(item, body, map, next.sparse_major == Some(1)),
        }
    }

    /// Passes on a sparse file, whose map the first blocks of the body have if `has_map`.
    fn sparse(&mut self, item: Item<'_>, mut body: u64, mut map: Map, has_map: bool) -> Result<()> {
        if has_map {
            body = body
                .checked_sub(self.map_before_data(&mut map, body)?)
                .ok_or_else(malformed)?;
        }
        let data = map.data()?;
        if data != body {
            return Err(damaged("a sparse file has more or less data than its map"));
        }
        self.holes = self.holes.saturating_add(map.size - data);
        if self.holes > HOLES_MAX {
            return Err(damaged("its sparse files have more than 16 GiB of holes"));
        }
        let item = Item {
            size: map.size,
            ..item
        };
        self.content(&item, body, Some(map))
    }

    /// Reads the map before the data: a list of numbers, one a line, of which the first counts the pieces. Returns the bytes
    /// that it takes.
    fn map_before_data(&mut self, map: &mut Map, body: u64) -> Result<u64> {
        let (mut text, mut lines, mut wanted) = (Vec::new(), 0, 1);
        while lines < wanted {
            if text.len() as u64 >= body.min(NAMES_MAX) {
                return Err(malformed());
            }
            let block = self.block()?.ok_or_else(malformed)?;
            text.extend_from_slice(&block);
            lines += block.iter().filter(|byte| **byte == b'\n').count();
            if wanted == 1 && lines > 0 {
                let count = text.split(|byte| *byte == b'\n').next();
                let count = count.and_then(decimal).ok_or_else(malformed)?;
                wanted = usize::try_from(count).map_or(usize::MAX, |count| {
                    count.saturating_mul(2).saturating_add(1)
                });
            }
        }
        let numbers = text.split(|byte| *byte == b'\n').take(wanted).skip(1);
        let numbers: Vec<&[u8]> = numbers.collect();
        if !numbers.is_empty() {
            map.add_numbers(&numbers.join(&b','))?;
        }
        Ok(text.len() as u64)
    }

    /// The map in a header of the old form, and in the blocks after it.
    fn old_map(&mut self, header: &Header) -> Result<Map> {
        let gnu = header.as_gnu().ok_or_else(malformed)?;
        let mut map = Map::default();
        map.size = gnu.real_size().map_err(|_| malformed())?;
        map.add_headers(&gnu.sparse)?;
        let mut is_extended = gnu.is_extended();
        while is_extended {
            let block = self.block()?.ok_or_else(malformed)?;
            let mut more = ::tar::GnuExtSparseHeader::new();
            more.as_mut_bytes().copy_from_slice(&block);
            map.add_headers(&more.sparse)?;
            is_extended = more.is_extended();
        }
        Ok(map)
    }

    /// Passes `item` on, with the `body` that follows, and reads to the next header.
    fn content(&mut self, item: &Item<'_>, body: u64, map: Option<Map>) -> Result<()> {
        let mut content = Body {
            input: &mut *self.input,
            left: body,
        };
        match map {
            Some(map) => {
                let mut sparse = Sparse::new(map, &mut content);
                self.visitor.entry(item, &mut sparse)?;
            }
            None => self.visitor.entry(item, &mut content)?,
        }
        content.skip()?;
        let mut padding = [0; BLOCK];
        let padding = &mut padding[..(body.wrapping_neg() % BLOCK as u64) as usize];
        self.input.read_exact(padding).map_err(unreadable)?;
        self.visitor.frame(padding);
        Ok(())
    }

    /// The body of a header that has names or records.
    fn names(&mut self, header: &Header) -> Result<Vec<u8>> {
        let size = header.entry_size().map_err(|_| malformed())?;
        if size > NAMES_MAX {
            return Err(damaged("the name of an entry is longer than 16 MiB"));
        }
        let mut names = Vec::new();
        let blocks = size.div_ceil(BLOCK as u64);
        for _ in 0..blocks {
            let block = self.block()?.ok_or_else(|| damaged("it ends too early"))?;
            names.extend_from_slice(&block);
        }
        names.truncate(size as usize);
        Ok(names)
    }

    /// Reads to the end of the input, so that a decompressor verifies its checksums.
    fn drain(&mut self) -> Result<()> {
        let drained = io::copy(&mut self.input, &mut io::sink());
        drained.map(drop).map_err(unreadable)
    }
}

/// The content of an entry.
struct Body<'a> {
    input: &'a mut dyn Read,
    left: u64,
}

impl Read for Body<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(self.left.try_into().unwrap_or(usize::MAX));
        let read = self.input.read(&mut out[..most])?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

impl Body<'_> {
    fn skip(&mut self) -> Result<()> {
        let skipped = io::copy(self, &mut io::sink());
        skipped.map(drop).map_err(unreadable)
    }
}

/// Whether the checksum of `block` is right. Some programs add signed bytes.
fn is_header(block: &[u8; BLOCK]) -> bool {
    const CHECKSUM: std::ops::Range<usize> = 148..156;
    let counted = |at: usize| {
        if CHECKSUM.contains(&at) {
            b' '
        } else {
            block[at]
        }
    };
    let unsigned: u32 = (0..BLOCK).map(|at| u32::from(counted(at))).sum();
    let signed: i32 = (0..BLOCK)
        .map(|at| i32::from(counted(at).cast_signed()))
        .sum();
    let stated = Header::from_byte_slice(block).cksum();
    stated.is_ok_and(|stated| stated == unsigned || i64::from(stated) == i64::from(signed))
}

/// Whether a field is a number: octal digits between blanks, or a binary number (tar(5), "GNU tar archives").
fn is_number(field: &[u8]) -> bool {
    let digits = until_nul(field).trim_ascii();
    matches!(field, [0x80 | 0xff, ..]) || digits.iter().all(|byte| matches!(byte, b'0'..=b'7'))
}

fn until_nul(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn malformed() -> Error {
    damaged("a header is malformed")
}

fn no_archive() -> Error {
    Error::fatal("this is no archive").caused_by(
        "it does not begin like a tar, a zip, or a file of gzip, zstd, xz, bzip2 or lzip",
    )
}
