//! Reads tar in every dialect that readers accept: v7, ustar, pax, GNU.
//!
//! [`TarReader`] goes on wherever most programs would, and has a doubt about whatever is not in the [grammar]:
//! [`read`] passes it on, `apply` refuses it. `tar::Header` reads the fields of a header. The rest is own code, because
//! `tar::Archive` reads extended headers of any length into memory, stops at the first end marker, and hides which of two names
//! of an entry it takes.

use std::io::{self, Read};

use bytes::Bytes;
use tar::Header;

use super::{
    blocks::{Blocks, READ_LEN},
    damage::{damaged, unreadable},
    grammar::{self, Dialect},
    item::{Item, Kind, Visitor},
    pax,
    pending::Pending,
    sparse,
};
use sluice_base::error::{Error, Result};

const BLOCK: usize = 512;
/// The limit of the names and records of one entry, in bytes. Some programs ignore longer ones.
const NAMES_MAX: u64 = 1 << 20;
/// The limit of the zeros at the end. They cost an archive nothing, and the reader time.
const ZEROS_MAX: u64 = 16 << 30;
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

impl From<&'static str> for TarError {
    fn from(what: &'static str) -> Self {
        Self::Malformed(what)
    }
}

/// The next item of a tar.
pub enum TarItem {
    /// The records of a global header.
    Global(Vec<u8>),
    /// An entry, whose content follows.
    Entry(Box<TarEntry>),
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
    /// The size of the content that follows.
    pub size: u64,
    /// The size of a file that is a hole, as git-sluice writes it. No content follows.
    pub hole: Option<u64>,
    /// The header itself.
    pub header: Header,
    /// Why programs may write something else.
    pub doubt: Option<&'static str>,
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
    pub fn next_item(&mut self) -> Result<Option<TarItem>, TarError> {
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
        let mut pending = std::mem::take(&mut self.pending);
        grammar::require(
            &mut pending.doubt,
            pending.dialect.is_none(),
            grammar::ALONE,
        );
        let doubt = |doubt| TarItem::Doubt(Vec::new(), doubt);
        Ok(pending.doubt.map(doubt))
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
        let is_header = grammar::is_header(block);
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
                return Err("no tar header where one has to be".into());
            }
            (false, true) => return Err("a header's checksum is wrong".into()),
            (false, false) => return Err(TarError::NoTar),
        }
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let size = size(header)?;
        let dialect = grammar::check(block, size, &mut self.pending.doubt);
        match block[grammar::TYPE_AT] {
            flag @ (b'g' | b'x' | b'L' | b'K') => {
                let body = self.names(size)?;
                self.pending.add(flag, &body)?;
                Ok((flag == b'g').then_some(TarItem::Global(body)))
            }
            b'V' if is_first && self.is_label(header) => Ok(None),
            _ => {
                let entry = self.entry(header, size, dialect)?;
                Ok(Some(TarItem::Entry(Box::new(entry))))
            }
        }
    }

    /// Whether `header` is the label that GNU tar writes first. Some programs write an empty file of that name.
    fn is_label(&self, header: &Header) -> bool {
        let label = header.as_old().name;
        self.pending.doubt.is_none() && label[0] != 0 && !label.contains(&b'/')
    }

    /// The body of a header that has names or records.
    fn names(&mut self, size: u64) -> Result<Vec<u8>, TarError> {
        if size >= self.names_max {
            return Err("an extended header is too large".into());
        }
        let mut names = Vec::new();
        for _ in 0..size.div_ceil(BLOCK as u64) {
            names.extend_from_slice(&self.whole_block()?);
        }
        let padding = names.split_off(size as usize);
        let is_padded = grammar::is_zero(&padding);
        grammar::require(&mut self.pending.doubt, is_padded, grammar::PADDING);
        Ok(names)
    }

    fn whole_block(&mut self) -> Result<[u8; BLOCK], TarError> {
        self.block()?.ok_or(TarError::Cut)
    }

    fn entry(
        &mut self,
        header: &Header,
        in_header: u64,
        dialect: Dialect,
    ) -> Result<TarEntry, TarError> {
        let pending = std::mem::take(&mut self.pending);
        let is_alone = pending.dialect.is_none();
        let flag = header.as_old().linkflag[0];
        let mut entry = TarEntry {
            path: header.path_bytes().into_owned(),
            link: header.link_name_bytes().unwrap_or_default().into_owned(),
            kind: kind(flag),
            mode: header.mode().map_err(|_| NUMBER)? & 0o7777,
            size: in_header,
            hole: None,
            header: header.clone(),
            doubt: pending.doubt,
        };
        entry.take_stated(pending, dialect);
        if matches!(flag, 0 | b'0') && entry.path.ends_with(b"/") {
            // In v7, the name in the header alone tells a directory.
            entry.kind = Kind::Directory;
            entry.require(is_alone && flag == 0, grammar::SLASH);
        }
        entry.check(in_header);
        if matches!(flag, b'1' | b'2' | b'5') {
            entry.size = 0;
        }
        self.body = entry.size;
        self.padding = (self.body.wrapping_neg() % BLOCK as u64) as usize;
        self.path.clone_from(&entry.path);
        if flag == b'S' {
            self.skip_map(header)?;
        }
        if let Some(hole) = entry.hole {
            let is_map = self.whole_block()?[..] == sparse::map(hole);
            entry.require(is_map, grammar::SPARSE);
            (entry.size, self.body) = (0, 0);
        }
        Ok(entry)
    }

    /// Skips the blocks after a `header` that have more of the map of a sparse file.
    fn skip_map(&mut self, header: &Header) -> Result<(), TarError> {
        let mut has_more = header.as_bytes()[sparse::HAS_MORE] == 1;
        while has_more {
            has_more = self.whole_block()?[sparse::HAS_STILL_MORE] == 1;
        }
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
    /// Takes the names and the size that other headers state.
    fn take_stated(&mut self, pending: Pending, dialect: Dialect) {
        let is_alone = pending.dialect.is_none();
        let is_link = matches!(self.kind, Kind::Symlink | Kind::HardLink);
        let size = pending.size.unwrap_or(self.size);
        let is_same = size == self.size || (size >= grammar::LARGE && self.size == 0);
        // Programs that look at this name only take a file for a directory.
        let is_v7 = self.header.as_old().linkflag == [0] && self.path.ends_with(b"/");
        self.require(is_alone || pending.dialect == Some(dialect), grammar::ORDER);
        self.require(is_alone || !is_v7, grammar::SLASH);
        self.require(is_same, grammar::SIZES);
        // busybox makes a hard link of a file that has a target.
        self.require(is_link || pending.link.is_none(), grammar::FORMAT);
        self.size = size;
        // Programs that take these names do not look at those in the header.
        self.path = pending.path.unwrap_or(std::mem::take(&mut self.path));
        self.link = pending.link.unwrap_or(std::mem::take(&mut self.link));
        let Some(sparse) = pending.sparse else {
            return;
        };
        // The map is one block.
        let has_map = self.kind == Kind::File && self.size == BLOCK as u64;
        self.hole = sparse.hole(&self.path).filter(|_| has_map);
        self.require(self.hole.is_some(), grammar::SPARSE);
        self.path = sparse.name().unwrap_or(&self.path).to_vec();
    }

    /// Compares the type with the names and the size.
    fn check(&mut self, in_header: u64) {
        let flag = self.header.as_old().linkflag[0];
        let is_directory = self.kind == Kind::Directory;
        let is_link = matches!(self.kind, Kind::Symlink | Kind::HardLink);
        let is_empty = self.size == 0 && in_header == 0;
        let is_nameless = self.path.is_empty() || (is_link && self.link.is_empty());
        let is_hard_link = flag == b'1';
        self.require(
            is_directory || !is_like_directory(&self.path),
            grammar::SLASH,
        );
        self.require(
            !is_hard_link || !is_like_directory(&self.link),
            grammar::SLASH,
        );
        self.require(is_empty || self.kind == Kind::File, grammar::BODY);
        self.require(!is_nameless, grammar::FORM);
        self.require(flag != b'S', grammar::SPARSE);
    }

    fn require(&mut self, is_right: bool, reason: &'static str) {
        grammar::require(&mut self.doubt, is_right, reason);
    }
}

/// Whether the last part of `path` is empty or a dot, as only that of a directory can be.
pub(super) fn is_like_directory(path: &[u8]) -> bool {
    matches!(path.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"."))
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
        _ => header.entry_size().map_err(|_| NUMBER.into()),
    }
}

/// Reads the plain tar in `input`, to its last byte.
pub fn read(input: &mut dyn Read, visitor: &mut dyn Visitor) -> Result<()> {
    let mut reader = TarReader::new(input, NAMES_MAX);
    let begin = reader.beginning().map_err(failed)?;
    if <&[u8; BLOCK]>::try_from(begin).is_ok_and(grammar::begins_another) {
        visitor.doubt(b"", grammar::OTHER)?;
    }
    loop {
        let item = reader.next_item().map_err(failed)?;
        visitor.frame(reader.frame());
        match item {
            None => return Ok(()),
            Some(TarItem::Zeros) if reader.end_len() > ZEROS_MAX => {
                return Err(damaged("more than 16 GiB of zeros follow its end"));
            }
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
            Some(TarItem::Entry(entry)) => pass(&entry, &mut reader, visitor)?,
        }
    }
}

/// Passes `entry` on.
fn pass<R: Read>(
    entry: &TarEntry,
    reader: &mut TarReader<R>,
    visitor: &mut dyn Visitor,
) -> Result<()> {
    let sparse = entry.hole.map(|_| grammar::SPARSE);
    if let Some(doubt) = entry.doubt.or(sparse) {
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
    visitor.entry(&item, reader)
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
