//! Reads tar in every dialect that readers accept: v7, ustar, pax, GNU.
//!
//! [`TarReader`] goes on wherever most programs would, and has a doubt about whatever is not in the [grammar](super::grammar):
//! [`read`] passes it on, `apply` refuses it. `tar::Header` reads the fields of a header. The rest is own code, because
//! `tar::Archive` reads extended headers of any length into memory, stops at the first end marker, and hides which of two names
//! of an entry it takes.

use std::io::{self, Read};

use bytes::Bytes;
use tar::Header;

use super::{
    blocks::{Blocks, READ_LEN},
    damage::{damaged, unreadable},
    grammar::{self, Dialect, SIZES},
    item::{Item, Kind, Visitor},
    pax::{self, Extended, decimal},
    sparse::{Map, Sparse},
};
use sluice_base::error::{Error, Result};

const BLOCK: usize = 512;
/// The limit of the names and records of one entry, in bytes.
const NAMES_MAX: u64 = 16 << 20;
/// The limit of all holes together. They cost an archive nothing, and the reader time.
const HOLES_MAX: u64 = 16 << 30;
/// The zeros after the end that are reported at once.
const ZEROS: usize = 64 << 10;
const NUMBER: &str = "a number in a header is malformed";

/// Why a tar cannot be read on.
#[derive(Debug)]
pub enum TarError {
    /// The input cannot be read.
    Input(io::Error),
    /// The input ends too early.
    Cut,
    /// The input does not begin like a tar.
    NoTar,
    /// What follows is no tar.
    Malformed(&'static str),
}

/// The next item of a tar.
pub enum TarItem {
    /// The records of a global header.
    Global(Vec<u8>),
    /// An entry, whose content follows.
    Entry(TarEntry),
    /// A reason why programs may disagree about the entry of this path, or about the archive.
    Doubt(Vec<u8>, &'static str),
    /// A part of the zeros after the end.
    Zeros,
}

/// An entry.
pub struct TarEntry {
    /// The path as stated.
    pub path: Vec<u8>,
    /// The target of a link.
    pub link: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// The permissions, with the setuid, setgid and sticky bits.
    pub mode: u32,
    /// The size of the file.
    pub size: u64,
    /// The header itself.
    pub header: Header,
    /// Why programs may write something else.
    pub doubt: Option<&'static str>,
    sparse: Option<Map>,
}

impl TarEntry {
    /// The zeros of a sparse file that are not in the archive.
    pub fn hole(&self) -> Option<u64> {
        let data = self.sparse.as_ref().map(|map| map.data().unwrap_or(0));
        data.map(|data| self.size - data)
    }
}

/// What the headers before an entry say of it.
#[derive(Default)]
struct Pending {
    extended: Option<Extended>,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    doubt: Option<&'static str>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.extended.is_none() && self.path.is_none() && self.link.is_none()
    }
}

/// Reads one tar.
pub struct TarReader<R> {
    blocks: Blocks<R>,
    /// The limit of the names and records of one entry, in bytes.
    names_max: u64,
    pending: Pending,
    /// The bytes to come of the last entry, and of its padding.
    body: u64,
    padding: usize,
    /// The path of the last entry.
    path: Vec<u8>,
    /// What is no content of a file, since the last item.
    frame: Vec<u8>,
    has_entry: bool,
    is_begun: bool,
    /// The bytes of the end so far.
    end: u64,
}

impl<R: Read> TarReader<R> {
    /// A reader that refuses names and records from `names_max` bytes on.
    pub fn new(input: R, names_max: u64) -> Self {
        Self {
            blocks: Blocks::new(input),
            names_max,
            pending: Pending::default(),
            body: 0,
            padding: 0,
            path: Vec::new(),
            frame: Vec::new(),
            has_entry: false,
            is_begun: false,
            end: 0,
        }
    }

    /// The bytes before the last item that are no content of a file.
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// The first block, which stays, or what there is of it.
    pub fn beginning(&mut self) -> Result<&[u8], TarError> {
        let begin = self.blocks.peek(BLOCK).map_err(TarError::Input)?;
        Ok(&begin[..begin.len().min(BLOCK)])
    }

    /// The byte of the archive that comes next.
    pub fn position(&self) -> u64 {
        self.blocks.position()
    }

    /// The number of zeros at the end.
    pub fn end_len(&self) -> u64 {
        self.end
    }

    /// Reads to the end of the input.
    pub fn drain(&mut self) -> io::Result<()> {
        self.blocks.drain()
    }

    /// The next item, after the rest of the last entry.
    pub fn next(&mut self) -> Result<Option<TarItem>, TarError> {
        self.frame.clear();
        while self.piece()?.is_some() {}
        if let Some(item) = self.end_entry()? {
            return Ok(Some(item));
        }
        loop {
            let before = self.position();
            let Some(block) = self.block()? else {
                return self.at_end();
            };
            if block == [0; BLOCK] {
                self.end += self.position() - before;
                if self.frame.len() >= ZEROS {
                    return Ok(Some(TarItem::Zeros));
                }
            } else if let Some(item) = self.member(&block)? {
                return Ok(Some(item));
            }
        }
    }

    fn end_entry(&mut self) -> Result<Option<TarItem>, TarError> {
        let len = std::mem::take(&mut self.padding);
        let padding = self.take(len)?;
        self.frame.extend_from_slice(&padding);
        let doubt = || TarItem::Doubt(self.path.clone(), grammar::PADDING);
        Ok((!grammar::is_zero(&padding)).then(doubt))
    }

    fn at_end(&mut self) -> Result<Option<TarItem>, TarError> {
        if !self.is_begun && self.end == 0 {
            return Err(TarError::NoTar);
        }
        if self.end == 0 {
            return Err(TarError::Cut);
        }
        let pending = std::mem::take(&mut self.pending);
        let alone = (!pending.is_empty()).then_some(grammar::ALONE);
        let doubt = pending.doubt.or(alone);
        Ok(doubt.map(|doubt| TarItem::Doubt(Vec::new(), doubt)))
    }

    /// The next block, unless the input ends before its first byte. After the end, a part of a block is as good as a whole one.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, TarError> {
        let bytes = self.blocks.take(BLOCK).map_err(TarError::Input)?;
        self.frame.extend_from_slice(&bytes);
        let mut block = [0; BLOCK];
        block[..bytes.len()].copy_from_slice(&bytes);
        match bytes.len() {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ if self.end > 0 => Ok(Some(block)),
            _ if !self.is_begun => Err(TarError::NoTar),
            _ => Err(TarError::Cut),
        }
    }

    /// The item that `block` begins, unless it belongs to the next one.
    fn member(&mut self, block: &[u8; BLOCK]) -> Result<Option<TarItem>, TarError> {
        let header = Header::from_byte_slice(block);
        let is_header = is_header(header);
        if std::mem::take(&mut self.end) > 0 {
            self.pending.doubt = Some(grammar::AFTER_END);
            if !is_header {
                self.drain().map_err(TarError::Input)?;
                self.end = 1;
                return Ok(Some(TarItem::Doubt(Vec::new(), grammar::AFTER_END)));
            }
        }
        match (is_header, self.is_begun) {
            (true, _) => {}
            (false, true) if !block[257..].starts_with(b"ustar") => {
                return Err(TarError::Malformed("no tar header where one has to be"));
            }
            (false, true) => return Err(TarError::Malformed("a header's checksum is wrong")),
            (false, false) => return Err(TarError::NoTar),
        }
        self.is_begun = true;
        let size = size(header)?;
        let checked = grammar::check(block, size);
        match (block[grammar::TYPE_AT], checked) {
            (b'g', checked) => self.global(size, checked).map(Some),
            (b'x', checked) => self.extended(size, checked).map(|()| None),
            (b'L', checked) => self.long_name(size, checked, false).map(|()| None),
            (b'K', checked) => self.long_name(size, checked, true).map(|()| None),
            (b'V', Ok(_)) if self.is_label(header) => Ok(None),
            (_, checked) => self
                .entry(header, size, checked)
                .map(|entry| Some(TarItem::Entry(entry))),
        }
    }

    /// Whether `header` is the label that GNU tar writes first. Some programs write an empty file of that name.
    fn is_label(&self, header: &Header) -> bool {
        let label = header.as_old().name;
        !self.has_entry && self.pending.is_empty() && label[0] != 0 && !label.contains(&b'/')
    }

    fn global(
        &mut self,
        size: u64,
        checked: Result<Dialect, &'static str>,
    ) -> Result<TarItem, TarError> {
        let records = self.names(size)?;
        if pax::records(&records).any(|record| record.is_none()) {
            return Err(TarError::Malformed(pax::MALFORMED));
        }
        let order = (!self.pending.is_empty()).then_some(grammar::ORDER);
        let doubt = order.or(checked.err()).or(pax::doubt_of_global(&records));
        // It counts for all entries, so that the next one is the first of them.
        self.pending.doubt = self.pending.doubt.or(doubt);
        Ok(TarItem::Global(records))
    }

    fn extended(
        &mut self,
        size: u64,
        checked: Result<Dialect, &'static str>,
    ) -> Result<(), TarError> {
        let records = self.names(size)?;
        let extended = Extended::read(&records).map_err(TarError::Malformed)?;
        let order = (!self.pending.is_empty()).then_some(grammar::ORDER);
        let doubt = checked.err().or(extended.doubt).or(order);
        self.pending.doubt = self.pending.doubt.or(doubt);
        self.pending.extended = Some(extended);
        Ok(())
    }

    /// Reads a name, or the target of a link, that does not fit into the header after it.
    fn long_name(
        &mut self,
        size: u64,
        checked: Result<Dialect, &'static str>,
        is_link: bool,
    ) -> Result<(), TarError> {
        let mut name = self.names(size)?;
        let len = name.iter().position(|byte| *byte == 0);
        let is_known = len.is_some_and(|len| len > 0 && len + 1 == name.len());
        name.truncate(len.unwrap_or(name.len()));
        let place = if is_link {
            &mut self.pending.link
        } else {
            &mut self.pending.path
        };
        let is_again = place.replace(name).is_some() || self.pending.extended.is_some();
        let form = (!is_known).then_some(grammar::FORM);
        let order = is_again.then_some(grammar::ORDER);
        self.pending.doubt = self.pending.doubt.or(checked.err()).or(form).or(order);
        Ok(())
    }

    /// The body of a header that has names or records.
    fn names(&mut self, size: u64) -> Result<Vec<u8>, TarError> {
        if size >= self.names_max {
            return Err(TarError::Malformed("an extended header is too large"));
        }
        let mut names = Vec::new();
        for _ in 0..size.div_ceil(BLOCK as u64) {
            names.extend_from_slice(&self.whole_block()?);
        }
        let padding = names.split_off(size as usize);
        if !grammar::is_zero(&padding) {
            self.pending.doubt = Some(grammar::PADDING);
        }
        Ok(names)
    }

    fn whole_block(&mut self) -> Result<[u8; BLOCK], TarError> {
        self.block()?.ok_or(TarError::Cut)
    }

    fn entry(
        &mut self,
        header: &Header,
        in_header: u64,
        checked: Result<Dialect, &'static str>,
    ) -> Result<TarEntry, TarError> {
        self.has_entry = true;
        let pending = std::mem::take(&mut self.pending);
        let flag = header.as_old().linkflag[0];
        let mut entry = TarEntry {
            path: header.path_bytes().into_owned(),
            link: header.link_name_bytes().unwrap_or_default().into_owned(),
            kind: kind(flag),
            mode: header.mode().map_err(|_| TarError::Malformed(NUMBER))? & 0o7777,
            size: in_header,
            header: header.clone(),
            doubt: checked.err().or(pending.doubt),
            sparse: None,
        };
        let dialect = checked.unwrap_or(Dialect::Ustar);
        let named = entry.with_names(pending, dialect);
        let sparse = named.map_err(TarError::Malformed)?;
        if matches!(flag, 0 | b'0') && entry.path.ends_with(b"/") {
            // In v7, the name alone tells a directory.
            entry.kind = Kind::Directory;
        }
        entry.check(in_header);
        let is_bare = matches!(flag, b'1' | b'2' | b'5');
        let body = if is_bare { 0 } else { entry.size };
        self.body = body;
        self.padding = (body.wrapping_neg() % BLOCK as u64) as usize;
        entry.size = body;
        self.path.clone_from(&entry.path);
        match (flag, sparse) {
            (b'S', _) => self.old_sparse(&mut entry)?,
            (_, Some((map, has_map))) => self.sparse(&mut entry, map, has_map)?,
            _ => {}
        }
        Ok(entry)
    }

    /// Reads the map in a header of the old form, and in the blocks after it.
    fn old_sparse(&mut self, entry: &mut TarEntry) -> Result<(), TarError> {
        let mut map = Map::default();
        let mut blocks = entry.header.as_bytes().to_vec();
        let mut has_more = map.add_header(&blocks).map_err(TarError::Malformed)?;
        while has_more {
            let block = self.whole_block()?;
            has_more = map.add_block(&block).map_err(TarError::Malformed)?;
            blocks.extend_from_slice(&block);
        }
        if !map.is_spelled(&blocks) {
            entry.doubt = entry.doubt.or(Some(grammar::SPARSE));
        }
        self.sparse(entry, map, false)
    }

    /// Takes `entry` for a sparse file, whose map the first blocks of the body have if `has_map`.
    fn sparse(
        &mut self,
        entry: &mut TarEntry,
        mut map: Map,
        has_map: bool,
    ) -> Result<(), TarError> {
        if has_map {
            self.map_before_data(&mut map, entry)?;
        }
        if map.data().map_err(TarError::Malformed)? != self.body {
            let cause = "a sparse file has more or less data than its map";
            return Err(TarError::Malformed(cause));
        }
        entry.size = map.size;
        entry.sparse = Some(map);
        Ok(())
    }

    /// Reads the map before the data: a list of numbers, one a line, of which the first counts the pieces.
    fn map_before_data(&mut self, map: &mut Map, entry: &mut TarEntry) -> Result<(), TarError> {
        let malformed = || TarError::Malformed("the map of a sparse file is malformed");
        let (mut text, mut lines, mut wanted) = (Vec::new(), 0, 1);
        while lines < wanted {
            if text.len() as u64 >= self.body.min(NAMES_MAX) {
                return Err(malformed());
            }
            let block = self.whole_block()?;
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
        let mut lines = text.split(|byte| *byte == b'\n');
        let numbers: Vec<&[u8]> = lines.by_ref().take(wanted).skip(1).collect();
        if !lines.all(grammar::is_zero) {
            entry.doubt = entry.doubt.or(Some(grammar::PADDING));
        }
        if !numbers.is_empty() {
            map.add_numbers(&numbers.join(&b','))
                .map_err(TarError::Malformed)?;
        }
        self.body = self
            .body
            .checked_sub(text.len() as u64)
            .ok_or_else(malformed)?;
        Ok(())
    }

    /// The next piece of the content of the current entry. `None` at its end.
    pub fn piece(&mut self) -> Result<Option<Bytes>, TarError> {
        if self.body == 0 {
            return Ok(None);
        }
        let len = self.body.min(READ_LEN as u64);
        self.body -= len;
        self.take(len as usize).map(Some)
    }

    fn take(&mut self, len: usize) -> Result<Bytes, TarError> {
        let bytes = self.blocks.take(len).map_err(TarError::Input)?;
        if bytes.len() < len {
            Err(TarError::Cut)
        } else {
            Ok(bytes)
        }
    }
}

impl TarEntry {
    /// Takes the names and the size that other headers state. Returns the map of a sparse file, and whether it goes on in the
    /// body.
    fn with_names(
        &mut self,
        pending: Pending,
        dialect: Dialect,
    ) -> Result<Option<(Map, bool)>, &'static str> {
        if !pending.is_empty() {
            let needed = if pending.extended.is_some() {
                Dialect::Ustar
            } else {
                Dialect::Gnu
            };
            self.charge((dialect != needed).then_some(grammar::ORDER));
            let is_file = self.header.as_old().linkflag == [0];
            // Programs that look at this name only take a file for a directory.
            self.charge((is_file && self.path.ends_with(b"/")).then_some(grammar::SLASH));
        }
        // Programs that take these names do not look at those in the header.
        self.path = pending.path.unwrap_or(std::mem::take(&mut self.path));
        self.link = pending.link.unwrap_or(std::mem::take(&mut self.link));
        let Some(extended) = pending.extended else {
            return Ok(None);
        };
        if let Some(size) = extended.size {
            let is_same = size == self.size || (size >= grammar::LARGE && self.size == 0);
            self.charge((!is_same).then_some(SIZES));
            self.size = size;
        }
        let is_link = matches!(self.kind, Kind::Symlink | Kind::HardLink);
        self.charge((extended.link.is_some() && !is_link).then_some(grammar::FORMAT));
        self.path = extended.path.unwrap_or(std::mem::take(&mut self.path));
        self.link = extended.link.unwrap_or(std::mem::take(&mut self.link));
        let Some(mut sparse) = extended.sparse else {
            return Ok(None);
        };
        let is_known = sparse.is_known() && sparse.allows(&self.path) && self.kind == Kind::File;
        self.charge((!is_known).then_some(grammar::SPARSE));
        self.path = sparse.name.take().unwrap_or(std::mem::take(&mut self.path));
        let has_map = sparse.has_map_before_data();
        Ok(Some((sparse.into_map(), has_map)))
    }

    /// Compares the type with the names and the size.
    fn check(&mut self, in_header: u64) {
        let is_stated = self.header.as_old().linkflag[0];
        let is_v7 = is_stated == 0 && self.kind == Kind::Directory;
        let is_link = matches!(self.kind, Kind::Symlink | Kind::HardLink);
        let has_slash = self.path.ends_with(b"/") && !(is_v7 || is_stated == b'5');
        self.charge(has_slash.then_some(grammar::SLASH));
        let has_body = self.kind != Kind::File && (self.size > 0 || in_header > 0);
        self.charge(has_body.then_some(grammar::BODY));
        let is_nameless = self.path.is_empty() || (is_link && self.link.is_empty());
        self.charge(is_nameless.then_some(grammar::FORM));
    }

    fn charge(&mut self, doubt: Option<&'static str>) {
        self.doubt = self.doubt.or(doubt);
    }
}

fn kind(flag: u8) -> Kind {
    match flag {
        b'0' | 0 | b'S' => Kind::File,
        b'1' => Kind::HardLink,
        b'2' => Kind::Symlink,
        b'5' => Kind::Directory,
        _ => Kind::Special,
    }
}

/// The size in a header. That of a label may be blank.
fn size(header: &Header) -> Result<u64, TarError> {
    match header.as_old() {
        old if old.linkflag == *b"V" && grammar::is_zero(&old.size) => Ok(0),
        _ => header.entry_size().map_err(|_| TarError::Malformed(NUMBER)),
    }
}

/// Whether the checksum is right. Some programs add signed bytes.
fn is_header(header: &Header) -> bool {
    let bytes = header.as_bytes();
    let counted = |at: usize| {
        if (148..156).contains(&at) {
            b' '
        } else {
            bytes[at]
        }
    };
    let unsigned: u32 = (0..BLOCK).map(|at| u32::from(counted(at))).sum();
    let signed = || {
        (0..BLOCK)
            .map(|at| i64::from(counted(at).cast_signed()))
            .sum::<i64>()
    };
    let stated = header.cksum();
    stated.is_ok_and(|stated| stated == unsigned || i64::from(stated) == signed())
}

/// Reads the tar in `input`, to its last byte.
pub(super) fn read(input: &mut dyn Read, visitor: &mut dyn Visitor) -> Result<()> {
    let mut reader = TarReader::new(input, NAMES_MAX);
    let mut holes = 0_u64;
    loop {
        let item = reader.next().map_err(failed)?;
        visitor.frame(reader.frame());
        match item {
            None => return Ok(()),
            Some(TarItem::Zeros) => {}
            Some(TarItem::Doubt(path, reason)) => visitor.doubt(&path, reason)?,
            Some(TarItem::Global(records)) => {
                for (key, value) in pax::records(&records).flatten() {
                    match key {
                        b"comment" => visitor.comment(value),
                        b"GITSLUICE.base" => visitor.base(value),
                        _ => {}
                    }
                }
            }
            Some(TarItem::Entry(entry)) => {
                holes = holes.saturating_add(entry.hole().unwrap_or(0));
                if holes > HOLES_MAX {
                    return Err(damaged("its sparse files have more than 16 GiB of holes"));
                }
                pass(entry, &mut reader, visitor)?;
            }
        }
    }
}

/// Passes `entry` on.
fn pass<R: Read>(
    entry: TarEntry,
    reader: &mut TarReader<R>,
    visitor: &mut dyn Visitor,
) -> Result<()> {
    if let Some(doubt) = entry.doubt {
        visitor.doubt(&entry.path, doubt)?;
    }
    let item = Item {
        path: &entry.path,
        kind: entry.kind,
        mode: entry.mode,
        size: entry.size,
        link: &entry.link,
        header: Some(&entry.header),
    };
    match entry.sparse {
        None => visitor.entry(&item, reader),
        Some(map) => visitor.entry(&item, &mut Sparse::new(map, reader)),
    }
}

/// Reads the content of the current entry.
impl<R: Read> Read for TarReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(self.body.try_into().unwrap_or(usize::MAX));
        let read = self.blocks.read(&mut out[..most])?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.body -= read as u64;
        Ok(read)
    }
}

fn failed(error: TarError) -> Error {
    match error {
        TarError::Input(error) => unreadable(error),
        TarError::Cut => damaged("it ends too early"),
        TarError::Malformed(cause) => damaged(cause),
        TarError::NoTar => Error::fatal("this is no archive").caused_by(
            "it does not begin like a tar, a zip, or a file of gzip, zstd, xz, bzip2 or lzip",
        ),
    }
}
