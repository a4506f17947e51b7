//! git's zip, byte for byte: local headers, deflated bodies, a directory at the end.
//!
//! Each body is a separate deflate stream, so many threads produce bodies at once. A body that deflate does
//! not shrink is stored; a streamed body stays deflated, because its header is sent first. Whether git
//! streams a file shows in the bytes. The layout therefore follows git, and a whole file that does not fit
//! into memory goes through a temporary file.

mod deflater;
mod record;

use std::io::{self, Write};

use super::{
    Begun, Body, Flush, Format, Layout, Member, MemberKind, Outline, Part, Put, StoredBody,
};
use sluice_deflate::Level;

use deflater::{DeflateStream, Deflater};
pub use record::{CentralDirectory, Pending, Times};
use record::{Method, ZipEntry};
use sluice_base::{
    buffer::{Buffer, spool::Spool},
    error::{Error, Result, format_bytes, push_line},
    io::each_piece,
};

/// Made on MS-DOS, for entries without a notable mode.
const MADE_BY_DOS: u16 = 0;
/// Made on Unix, by version 2.3.
const MADE_BY_UNIX: u16 = 0x0317;
const EXECUTABLE: u32 = 0o100755 << 16;
const SYMLINK: u32 = 0o120777 << 16;
/// The directory bit of MS-DOS.
const DIRECTORY: u32 = 0x10;
/// The number of bytes in which git looks for a NUL.
const LOOKED_AT: usize = 8000;
/// The longest name that the format holds.
const NAME_MAX: usize = u16::MAX as usize;
/// Bytes copied at once.
const COPY_LEN: usize = 64 << 10;
/// The most bytes of a packed body held in memory. More go to a temporary file.
const SPOOL_MEMORY: usize = 1 << 20;

/// The properties that all entries of an archive share.
#[derive(Clone, Debug)]
pub struct Zip {
    /// The time of all entries.
    pub times: Times,
    /// The compression level of bodies; 0 stores them.
    pub level: Level,
    /// The comment at the end: the commit's id in hexadecimal.
    pub comment: Option<String>,
    /// The most bytes of the directory at the end held in memory. The rest goes to a temporary file.
    pub directory_memory: usize,
}

/// The state with which a thread deflates.
#[derive(Default)]
pub struct Scratch {
    deflater: Deflater,
    packed: Vec<u8>,
}

impl Format for Zip {
    type Scratch = Scratch;
    type Records = Pending;
    type Directory = CentralDirectory;

    fn head(&self, _: &mut Buffer) {}

    fn content_start(&self, _: i64, _: u64) -> Option<i64> {
        None
    }

    fn check(&self, member: &Member<'_>, log: &mut Buffer) -> Result<()> {
        let name = member.name;
        if !name.is_ascii() && !is_utf8(name) {
            let mut line = Vec::new();
            let warning = format_bytes("path is not valid UTF-8: {}", &[name]);
            push_line(&mut line, "warning: ", &warning);
            log.extend(&line);
        }
        if name.len() > NAME_MAX {
            let (len, id) = (name.len(), member.hex_id());
            let why = format!("path too long ({len} chars, SHA1: {id}): ");
            return Err(Error::entry([why.as_bytes(), name].concat()));
        }
        Ok(())
    }

    fn directory(&self, member: &Member<'_>, part: &mut Part<Pending>) {
        self.small(member, b"", false, part);
    }

    fn symlink(&self, member: &Member<'_>, target: &[u8], part: &mut Part<Pending>) {
        let text = member.text.unwrap_or_else(|| looks_like_text(target));
        self.small(member, target, text, part);
    }

    /// Reserve room for the header, which is known only after the body.
    fn begin_file(&self, member: &Member<'_>, part: &mut Part<Pending>) -> Begun {
        let header = part.bytes.len();
        part.bytes.zeros(entry(member).local_len(member.name));
        Begun {
            header,
            body: part.bytes.len(),
        }
    }

    fn end_file(
        &self,
        scratch: &mut Scratch,
        begun: Begun,
        member: &Member<'_>,
        layout: Layout,
        part: &mut Part<Pending>,
    ) {
        let out = &mut part.bytes;
        let body = &out[begun.body..];
        let size = body.len() as u64;
        let mut entry = ZipEntry {
            method: self.method(size),
            streamed: layout == Layout::Streamed,
            crc: crc32fast::hash(body),
            size,
            packed: size,
            text: member.text.unwrap_or_else(|| looks_like_text(body)),
            ..entry(member)
        };
        if entry.method == Method::Deflate {
            let Scratch { deflater, packed } = scratch;
            deflater.whole(self.level, body, packed);
            // A streamed body must stay deflated.
            if entry.streamed || packed.len() < body.len() {
                entry.packed = packed.len() as u64;
                out.truncate(begun.body);
                out.extend(packed);
            } else {
                entry.method = Method::Store;
            }
        }
        self.header(&entry, &begun, member, out);
        if entry.streamed {
            entry.descriptor(out);
        }
        part.records.push(entry, member.name, begun.header as i64);
    }

    fn end_copied(
        &self,
        _: &mut Scratch,
        begun: Begun,
        member: &Member<'_>,
        body: StoredBody,
        part: &mut Part<Pending>,
    ) {
        let entry = ZipEntry {
            method: if body.is_deflated {
                Method::Deflate
            } else {
                Method::Store
            },
            crc: body.crc,
            size: body.size,
            packed: body.packed,
            text: member.text.unwrap_or(body.is_text),
            ..entry(member)
        };
        self.header(&entry, &begun, member, &mut part.bytes);
        part.records.push(entry, member.name, begun.header as i64);
    }

    fn last_body(&self, part: &Part<Pending>, _: u64) -> Option<StoredBody> {
        let entry = part.records.last()?;
        (!entry.streamed).then(|| StoredBody {
            start: part.bytes.len() as i64 - entry.packed as i64,
            packed: entry.packed,
            size: entry.size,
            crc: entry.crc,
            is_deflated: entry.method == Method::Deflate,
            is_text: entry.text,
        })
    }

    fn stream_file<E: From<io::Error>>(
        &self,
        scratch: &mut Scratch,
        member: &Member<'_>,
        outline: Outline,
        body: Body<'_, E>,
        part: &mut Part<Pending>,
        flush: Flush<'_, Pending, E>,
    ) -> Result<(), E> {
        let entry = ZipEntry {
            method: self.method(outline.size),
            size: outline.size,
            ..entry(member)
        };
        match outline.layout {
            Layout::Streamed => self.streamed(scratch, member, entry, body, part, flush),
            Layout::Whole => self.spooled(scratch, member, entry, body, part, flush),
        }
    }

    fn sparse_file(&self, member: &Member<'_>, _: u64, part: &mut Part<Pending>) {
        self.small(member, b"", member.text.unwrap_or(true), part);
    }

    fn empty_directory(&self) -> CentralDirectory {
        CentralDirectory::new(self.directory_memory)
    }

    fn place(
        &self,
        directory: &mut CentralDirectory,
        records: &mut Pending,
        start: u64,
    ) -> Result<()> {
        let placed = directory.place(records, self.times, start);
        placed.map_err(cannot_keep_directory)
    }

    fn end(&self, directory: CentralDirectory, written: u64, put: Put<'_>) -> Result<()> {
        let comment = self.comment.as_deref().unwrap_or_default();
        let (records, end) = directory
            .end(comment, written)
            .map_err(cannot_keep_directory)?;
        let mut piece = vec![0; COPY_LEN];
        each_piece(
            records.reader(),
            &mut piece,
            cannot_keep_directory,
            &mut *put,
        )?;
        put(&end)
    }

    fn torn(&self, out: &mut Buffer) {
        let member = Member {
            name: b"incomplete-archive",
            kind: MemberKind::File,
            id: b"",
            text: None,
            vendor: &[],
        };
        let torn = ZipEntry {
            packed: 1,
            size: 1,
            ..entry(&member)
        };
        torn.local(member.name, self.times, out);
    }
}

impl Zip {
    fn method(&self, size: u64) -> Method {
        if self.level.number() == 0 || size == 0 {
            Method::Store
        } else {
            Method::Deflate
        }
    }

    /// Append an entry that is never deflated.
    fn small(&self, member: &Member<'_>, body: &[u8], text: bool, part: &mut Part<Pending>) {
        let entry = ZipEntry {
            crc: crc32fast::hash(body),
            size: body.len() as u64,
            packed: body.len() as u64,
            text,
            ..entry(member)
        };
        let offset = part.bytes.len() as i64;
        entry.local(member.name, self.times, &mut part.bytes);
        part.bytes.extend(body);
        part.records.push(entry, member.name, offset);
    }

    fn header(&self, entry: &ZipEntry, begun: &Begun, member: &Member<'_>, out: &mut Buffer) {
        let mut header = Buffer::default();
        entry.known().local(member.name, self.times, &mut header);
        begun.put_header(&header, out);
    }

    fn streamed<E>(
        &self,
        scratch: &mut Scratch,
        member: &Member<'_>,
        mut entry: ZipEntry,
        body: Body<'_, E>,
        part: &mut Part<Pending>,
        flush: Flush<'_, Pending, E>,
    ) -> Result<(), E> {
        entry.streamed = true;
        entry.packed = entry.size;
        let header = part.bytes.len();
        entry
            .known()
            .local(member.name, self.times, &mut part.bytes);
        // The header's position relative to the part, which is emptied repeatedly.
        let mut offset = header as i64;
        let (mut sum, mut packed) = (Sum::default(), 0);
        let mut packer = self.packer(scratch, entry.method);
        let mut flush = |part: &mut Part<Pending>, offset: &mut i64| {
            *offset -= part.bytes.len() as i64;
            flush(part)
        };
        body(&mut |bytes| {
            sum.add(bytes);
            packed += packer.pack(bytes, &mut part.bytes);
            flush(part, &mut offset)
        })?;
        packed += packer.finish(&mut part.bytes);
        entry.crc = sum.crc.finalize();
        entry.packed = packed;
        entry.text = member.text.unwrap_or(!sum.binary);
        entry.descriptor(&mut part.bytes);
        part.records.push(entry, member.name, offset);
        Ok(())
    }

    fn spooled<E: From<io::Error>>(
        &self,
        scratch: &mut Scratch,
        member: &Member<'_>,
        mut entry: ZipEntry,
        body: Body<'_, E>,
        part: &mut Part<Pending>,
        flush: Flush<'_, Pending, E>,
    ) -> Result<(), E> {
        let mut spool = Spool::new(SPOOL_MEMORY);
        let (mut sum, mut packed) = (Sum::default(), 0);
        let mut out = Buffer::default();
        if entry.method == Method::Store {
            body(&mut |bytes| {
                sum.add(bytes);
                Ok(())
            })?;
        } else {
            let mut packer = self.packer(scratch, entry.method);
            let mut spill = |out: &mut Buffer, packed: u64| {
                // A body that does not shrink is stored, so its output need not be kept.
                let kept = if packed < entry.size {
                    spool.write_all(out)
                } else {
                    Ok(())
                };
                out.clear();
                kept
            };
            body(&mut |bytes| {
                sum.add(bytes);
                packed += packer.pack(bytes, &mut out);
                Ok(spill(&mut out, packed)?)
            })?;
            packed += packer.finish(&mut out);
            spill(&mut out, packed)?;
        }
        let shrunk = entry.method == Method::Deflate && packed < entry.size;
        if !shrunk {
            entry.method = Method::Store;
            packed = entry.size;
        }
        entry.packed = packed;
        entry.crc = sum.crc.finalize();
        entry.text = member.text.unwrap_or(!sum.binary);
        part.records
            .push(entry, member.name, part.bytes.len() as i64);
        entry.local(member.name, self.times, &mut part.bytes);
        if !shrunk {
            return body(&mut |bytes| {
                part.bytes.extend(bytes);
                flush(part)
            });
        }
        let spooled = spool.finish()?;
        let mut piece = vec![0; COPY_LEN];
        each_piece(spooled.reader(), &mut piece, E::from, |piece| {
            part.bytes.extend(piece);
            flush(part)
        })
    }

    fn packer<'a>(&self, scratch: &'a mut Scratch, method: Method) -> Packer<'a> {
        match method {
            Method::Store => Packer::Store,
            Method::Deflate => Packer::Deflate(scratch.deflater.begin(self.level)),
        }
    }
}

/// Packs a body piece by piece. Each call returns the number of output bytes.
enum Packer<'a> {
    Store,
    Deflate(DeflateStream<'a>),
}

impl Packer<'_> {
    fn pack(&mut self, bytes: &[u8], out: &mut Buffer) -> u64 {
        let start = out.len();
        match self {
            Self::Store => out.extend(bytes),
            Self::Deflate(stream) => stream.feed(bytes, out),
        }
        (out.len() - start) as u64
    }

    fn finish(self, out: &mut Buffer) -> u64 {
        let start = out.len();
        if let Self::Deflate(stream) = self {
            stream.finish(out);
        }
        (out.len() - start) as u64
    }
}

impl ZipEntry {
    /// The fields that are known when the header is written.
    fn known(&self) -> Self {
        match (self.streamed, self.method) {
            (false, _) => *self,
            (true, Method::Store) => Self { crc: 0, ..*self },
            (true, Method::Deflate) => Self {
                crc: 0,
                packed: 0,
                ..*self
            },
        }
    }
}

/// An entry with the fields that follow from its name and type.
fn entry(member: &Member<'_>) -> ZipEntry {
    let (made_by, attributes) = match member.kind {
        MemberKind::File => (MADE_BY_DOS, 0),
        MemberKind::Executable => (MADE_BY_UNIX, EXECUTABLE),
        MemberKind::Symlink => (MADE_BY_UNIX, SYMLINK),
        MemberKind::Directory => (MADE_BY_DOS, DIRECTORY),
    };
    ZipEntry {
        made_by,
        method: Method::Store,
        streamed: false,
        utf8: !member.name.is_ascii() && is_utf8(member.name),
        crc: 0,
        packed: 0,
        size: 0,
        text: false,
        attributes,
    }
}

/// The facts of a body that is never in memory as a whole.
#[derive(Default)]
struct Sum {
    crc: crc32fast::Hasher,
    seen: usize,
    binary: bool,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        let looked_at = bytes.len().min(LOOKED_AT.saturating_sub(self.seen));
        self.binary |= bytes[..looked_at].contains(&0);
        self.seen = self.seen.saturating_add(bytes.len());
    }
}

fn cannot_keep_directory(error: io::Error) -> Error {
    Error::entry("cannot keep the directory of the zip file").caused_by(error)
}

fn looks_like_text(content: &[u8]) -> bool {
    !content[..content.len().min(LOOKED_AT)].contains(&0)
}

/// Whether git takes `name` for UTF-8: as in the standard, but without the two noncharacters at the end of
/// each plane.
fn is_utf8(name: &[u8]) -> bool {
    std::str::from_utf8(name)
        .is_ok_and(|name| !name.chars().any(|c| matches!(c, '\u{fffe}' | '\u{ffff}')))
}
