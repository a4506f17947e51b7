//! Reads zip: stored, deflated and Zstandard, zip64, data descriptors, both headers of each entry.
//!
//! rawzip finds and reads the records and checks sizes and sums. This module compares the records with each other, because
//! some readers believe the directory at the end, and others believe the headers before the contents.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    ops::Range,
    os::unix::fs::FileExt,
};

use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive,
    ZipFileHeaderRecord,
};

use super::{
    compression::Raw,
    damage::{damaged, unreadable},
    grammar,
    item::{Item, Kind, Visitor},
    zip_grammar::{self, Header, Sums},
};
use sluice_base::error::{Error, Result};

/// The longest target of a link, in bytes.
const TARGET_MAX: u64 = 1 << 20;
const TYPE: u32 = 0o170_000;
const BUFFER: usize = 32 << 10;

const END: &str = "its end disagrees with its entries: programs find different ones";
const GAPS: &str = "bytes belong to no entry, or to two: programs that read in order find others";
const CUT: &str = "its data ends early: programs that read in order find other entries after it";

/// Where an entry is.
struct Place {
    start: u64,
    /// The end of its content.
    end: u64,
    /// What the record after the content has to state, if there is one.
    sums: Option<Sums>,
}

/// Reads the zip in `file`.
pub(super) fn read_file(file: File, raw: &Raw, visitor: &mut dyn Visitor) -> Result<()> {
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    add_all(&file, raw).map_err(unreadable)?;
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(broken)?;
    ZipReader::new(&archive, visitor).read(raw.size())
}

/// Reads the zip in `stream`, whose directory comes last, from at most `memory` bytes.
pub(super) fn read_stream(
    stream: Box<dyn Read + Send>,
    memory: u64,
    raw: &Raw,
    visitor: &mut dyn Visitor,
) -> Result<()> {
    let mut bytes = Vec::new();
    let read = stream.take(memory + 1).read_to_end(&mut bytes);
    read.map_err(unreadable)?;
    if bytes.len() as u64 > memory {
        return Err(Error::fatal("a zip in a pipe does not fit the memory")
            .hinted("name a file, or raise --memory"));
    }
    raw.add(&bytes);
    let archive = ZipArchive::from_slice(bytes).map_err(broken)?;
    ZipReader::new(&archive.into_reader_archive(), visitor).read(raw.size())
}

fn add_all(file: &File, raw: &Raw) -> io::Result<()> {
    let mut piece = vec![0; 128 << 10];
    loop {
        match file.read_at(&mut piece, raw.size())? {
            0 => return Ok(()),
            read => raw.add(&piece[..read]),
        }
    }
}

struct ZipReader<'a, R> {
    archive: &'a ZipArchive<R>,
    visitor: &'a mut dyn Visitor,
    /// Where each entry is.
    places: Vec<Place>,
    /// The compressed bytes that other entries may still have, unless entries share bytes.
    left: u64,
}

impl<'a, R: ReaderAt> ZipReader<'a, R> {
    fn new(archive: &'a ZipArchive<R>, visitor: &'a mut dyn Visitor) -> Self {
        Self {
            archive,
            visitor,
            places: Vec::new(),
            left: 0,
        }
    }

    /// Reads all entries of a file of `len` bytes.
    fn read(mut self, len: u64) -> Result<()> {
        self.left = len;
        let mut comment = Vec::new();
        let read = self.archive.comment().read_to_end(&mut comment);
        read.map_err(unreadable)?;
        self.visitor.comment(&comment);
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let mut entries = self.archive.entries(&mut buffer);
        while let Some(record) = entries.next_entry().map_err(broken)? {
            self.entry(&record)?;
        }
        self.check_places()?;
        self.check_end(len)
    }

    fn entry(&mut self, record: &ZipFileHeaderRecord<'_>) -> Result<()> {
        let entry = self.archive.get_entry(record.wayfinder()).map_err(broken)?;
        let (start, end) = entry.compressed_data_range();
        self.check_headers(record, start..end)?;
        // Otherwise, a few bytes in many entries would take any time.
        let left = self.left.checked_sub(end.saturating_sub(start));
        self.left = left.ok_or_else(|| damaged("its entries share bytes"))?;
        if record.flags().is_encrypted() {
            return Err(Error::fatal("cannot read the archive").caused_by("a file is encrypted"));
        }
        let mut compressed = BufReader::with_capacity(BUFFER, entry.reader());
        let mut plain: Box<dyn Read> = match record.compression_method() {
            CompressionMethod::STORE => Box::new(&mut compressed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(&mut compressed)),
            CompressionMethod::ZSTD => {
                let decoder = zstd::Decoder::with_buffer(&mut compressed);
                Box::new(decoder.map_err(unreadable)?)
            }
            other => {
                let cause = format!("a file is compressed by the method '{other}'");
                return Err(Error::fatal("cannot read the archive").caused_by(cause));
            }
        };
        let mut content = entry.verifying_reader(&mut plain);
        let mode = record.mode().value();
        let mut item = Item {
            path: record.file_path().as_bytes(),
            kind: match mode & TYPE {
                _ if record.is_dir() => Kind::Directory,
                0o040_000 => Kind::Directory,
                // Some programs state no type, or no permissions at all.
                0 | 0o100_000 => Kind::File,
                0o120_000 => Kind::Symlink,
                _ => Kind::Special,
            },
            mode: mode & 0o7777,
            size: record.uncompressed_size_hint(),
            link: b"",
            header: None,
        };
        let mut target = Vec::new();
        if item.kind == Kind::Symlink {
            let read = content.by_ref().take(TARGET_MAX).read_to_end(&mut target);
            read.map_err(unreadable)?;
            item.link = &target;
        } else if item.kind != Kind::File && item.size > 0 {
            self.visitor.doubt(item.path, grammar::BODY)?;
        }
        self.visitor.entry(&item, &mut content)?;
        let path = item.path;
        io::copy(&mut content, &mut io::sink()).map_err(unreadable)?;
        drop(plain);
        let rest = compressed.fill_buf().map_err(unreadable)?;
        self.require(path, rest.is_empty(), CUT)
    }

    /// Compares the record of an entry in the directory with the header before its `content`, and with the known writers.
    fn check_headers(
        &mut self,
        record: &ZipFileHeaderRecord<'_>,
        content: Range<u64>,
    ) -> Result<()> {
        let name = record.file_path().as_bytes();
        let extra = record.extra_fields().remaining_bytes();
        let (start, at) = (
            record.local_header_offset(),
            record.central_directory_offset(),
        );
        let fixed = self.bytes(at..at + zip_grammar::CENTRAL)?;
        let local = self.bytes(start..content.start)?;
        let sums = Sums {
            crc: record.crc32(),
            compressed: record.compressed_size_hint(),
            plain: record.uncompressed_size_hint(),
        };
        self.places.push(Place {
            start,
            end: content.end,
            sums: record.flags().has_data_descriptor().then_some(sums),
        });
        match zip_grammar::check(&fixed, Header { name, extra }, &local, sums) {
            Some(doubt) => self.visitor.doubt(name, doubt),
            None => Ok(()),
        }
    }

    /// Compares where the directory is with what the records at the end say of it (APPNOTE.TXT, sections 4.3.14 to 4.3.16).
    fn check_end(&mut self, len: u64) -> Result<()> {
        let eocd = self.archive.eocd_offset();
        let start = self.archive.directory_offset();
        let end = self.bytes(eocd..len.min(eocd + zip_grammar::END_MAX))?;
        let before = start.max(eocd.saturating_sub(zip_grammar::LARGE_END));
        let large = self.bytes(before..eocd)?;
        let large = zip_grammar::is_large(&large).then_some(&large[..]);
        let directory = zip_grammar::Directory {
            start,
            len: large.map_or(eocd, |_| before) - start,
            count: self.places.len() as u64,
        };
        let is_stated = len - eocd <= zip_grammar::END_MAX && directory.is_stated(&end, large);
        self.require(b"", is_stated, END)
    }

    /// Looks for bytes that belong to no entry, or to two, and for entries in another order than their headers.
    fn check_places(&mut self) -> Result<()> {
        let starts = self.places.iter().map(|place| place.start);
        let starts = starts.chain([self.archive.directory_offset()]);
        let ends = self.places.iter().map(|place| (place.end, place.sums));
        let mut is_whole = true;
        for ((end, sums), start) in [(0, None)].into_iter().chain(ends).zip(starts) {
            if end > start || start - end > zip_grammar::DESCRIPTOR_MAX {
                is_whole = false;
                break;
            }
            let between = self.bytes(end..start)?;
            is_whole &= match sums {
                Some(sums) => sums.is_descriptor(&between),
                None => between.is_empty(),
            };
        }
        self.require(b"", is_whole, GAPS)
    }

    /// The bytes of the file in `range`.
    fn bytes(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let read = self
            .archive
            .get_ref()
            .read_exact_at(&mut bytes, range.start);
        read.map_err(unreadable)?;
        Ok(bytes)
    }

    fn require(&mut self, path: &[u8], is_right: bool, reason: &'static str) -> Result<()> {
        if is_right {
            return Ok(());
        }
        self.visitor.doubt(path, reason)
    }
}

fn broken(error: rawzip::Error) -> Error {
    match error.into_kind() {
        ErrorKind::IO(error) => unreadable(error),
        kind => damaged(kind.to_string()),
    }
}
