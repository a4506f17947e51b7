//! Reads zip: stored, deflated and Zstandard, zip64, data descriptors, both headers of each entry.
//!
//! rawzip finds and reads the records and checks sizes and sums. This module compares the records with each other, because
//! some readers believe the directory at the end, and others believe the headers before the contents.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
};

use rawzip::{
    CompressionMethod, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive,
    ZipEntry, ZipFileHeaderRecord, extra_fields::ExtraFieldId,
};

use super::{
    compression::Raw,
    damage::{damaged, unreadable},
    item::{Item, Kind, Visitor},
};
use sluice_base::error::{Error, Result};

/// The longest target of a link, in bytes.
const TARGET_MAX: u64 = 1 << 20;
/// The lengths of a record after a content, in bytes: with or without a signature, of zip64 or not.
const DESCRIPTOR: [u64; 4] = [12, 16, 20, 24];
const TYPE: u32 = 0o170_000;
/// The id and the length of an extra field, in bytes.
const FIELD_HEADER: usize = 4;
/// Where a record of the directory has the version of zip that its entry asks for (APPNOTE.TXT, section 4.3.12).
const VERSION_AT: u64 = 6;
/// The newest version, 6.3 (section 4.4.3). Readers pass over entries that ask for a newer one, or refuse the zip.
const VERSION_MAX: [u8; 1] = [63];
/// The signature of the record that says where the zip64 record is.
const ZIP64_LOCATOR: &[u8] = b"PK\x06\x07";

/// Reads the zip in `file`.
pub(super) fn read_file(file: File, raw: &Raw, visitor: &mut dyn Visitor) -> Result<()> {
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let bytes = file.try_clone().map_err(unreadable)?;
    add_all(&bytes, raw).map_err(unreadable)?;
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(broken)?;
    ZipReader::new(&archive, visitor).read(raw.len())
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
    ZipReader::new(&archive.into_reader_archive(), visitor).read(raw.len())
}

fn add_all(file: &File, raw: &Raw) -> io::Result<()> {
    let mut piece = vec![0; 128 << 10];
    loop {
        match file.read_at(&mut piece, raw.len())? {
            0 => return Ok(()),
            read => raw.add(&piece[..read]),
        }
    }
}

struct ZipReader<'a, R> {
    archive: &'a ZipArchive<R>,
    visitor: &'a mut dyn Visitor,
    /// Where each entry is: its header, the end of its content, and whether a descriptor follows.
    places: Vec<(u64, u64, bool)>,
    local: Vec<u8>,
    /// The compressed bytes that other entries may still have, unless entries share bytes.
    left: u64,
}

impl<'a, R: ReaderAt> ZipReader<'a, R> {
    fn new(archive: &'a ZipArchive<R>, visitor: &'a mut dyn Visitor) -> Self {
        Self {
            archive,
            visitor,
            places: Vec::new(),
            local: vec![0; 2 * MAX_CENTRAL_DIRECTORY_RECORD_SIZE],
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
        let count = self.places.len() as u64;
        self.check_places()?;
        self.check_end()?;
        if self.archive.entries_hint() != count {
            self.visitor
                .doubt(b"", "the directory has more or fewer entries than it says")?;
        }
        if self.archive.end_offset() != len {
            self.visitor
                .doubt(b"", "data after the end of the archive")?;
        }
        Ok(())
    }

    fn entry(&mut self, record: &ZipFileHeaderRecord<'_>) -> Result<()> {
        let entry = self.archive.get_entry(record.wayfinder()).map_err(broken)?;
        self.check_headers(record, &entry)?;
        let (start, end) = entry.compressed_data_range();
        // Otherwise, a few bytes in many entries would take any time.
        let left = self.left.checked_sub(end.saturating_sub(start));
        self.left = left.ok_or_else(|| damaged("its entries share bytes"))?;
        let has_descriptor = record.flags().has_data_descriptor();
        self.places
            .push((record.local_header_offset(), end, has_descriptor));
        if record.flags().is_encrypted() {
            return Err(Error::fatal("cannot read the archive").caused_by("a file is encrypted"));
        }
        let compressed = entry.reader();
        let plain: Box<dyn Read + '_> = match record.compression_method() {
            CompressionMethod::STORE => Box::new(compressed),
            CompressionMethod::DEFLATE => Box::new(flate2::read::DeflateDecoder::new(compressed)),
            CompressionMethod::ZSTD => {
                Box::new(zstd::Decoder::new(compressed).map_err(unreadable)?)
            }
            other => {
                let cause = format!("a file is compressed by the method '{other}'");
                return Err(Error::fatal("cannot read the archive").caused_by(cause));
            }
        };
        let mut content = entry.verifying_reader(plain);
        let mode = record.mode().value();
        let mut item = Item {
            path: record.file_path().as_bytes(),
            kind: match mode & TYPE {
                _ if record.is_dir() => Kind::Directory,
                0o040_000 => Kind::Directory,
                0o100_000 => Kind::File,
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
            let doubt = "something that is no file has content";
            self.visitor.doubt(item.path, doubt)?;
        }
        self.visitor.entry(&item, &mut content)?;
        let drained = io::copy(&mut content, &mut io::sink());
        drained.map(drop).map_err(unreadable)
    }

    /// Compares what the directory says of an entry with the header before its content, and with the record after it.
    fn check_headers(
        &mut self,
        record: &ZipFileHeaderRecord<'_>,
        entry: &ZipEntry<'_, R>,
    ) -> Result<()> {
        let local = entry.local_header(&mut self.local).map_err(broken)?;
        let sums = (
            record.crc32(),
            record.compressed_size_hint(),
            record.uncompressed_size_hint(),
        );
        let local_sums = (
            local.crc32(),
            local.compressed_size_hint(),
            local.uncompressed_size_hint(),
        );
        let has_descriptor = record.flags().has_data_descriptor();
        let agree = record.file_path().as_bytes() == local.file_path().as_bytes()
            && record.compression_method() == local.compression_method()
            && record.flags() == local.flags()
            && (sums == local_sums || has_descriptor);
        let descriptor = entry.reader().data_descriptor();
        let descriptor = descriptor.ok().flatten().map(|descriptor| {
            (
                descriptor.crc32(),
                descriptor.compressed_size(),
                descriptor.uncompressed_size(),
            )
        });
        let path = record.file_path();
        if !agree || (has_descriptor && descriptor != Some(sums)) {
            self.visitor
                .doubt(path.as_bytes(), "its two headers disagree")?;
        }
        let (mut has_other_name, mut has_half_field) = (false, false);
        for mut fields in [record.extra_fields(), local.extra_fields()] {
            for (id, _) in fields.by_ref() {
                has_other_name |= id == ExtraFieldId::INFO_ZIP_UNICODE_PATH;
            }
            // Some programs align contents by up to three bytes that are no field.
            has_half_field |= fields.remaining_bytes().len() >= FIELD_HEADER;
        }
        if has_other_name {
            self.visitor
                .doubt(path.as_bytes(), "a field of its header states another name")?;
        }
        if has_half_field {
            self.visitor
                .doubt(path.as_bytes(), "a field of its header is cut")?;
        }
        self.check_version(record)
    }

    /// Looks for a version of zip that readers do not know. rawzip does not return it.
    fn check_version(&mut self, record: &ZipFileHeaderRecord<'_>) -> Result<()> {
        let mut version = [0];
        let at = record.central_directory_offset() + VERSION_AT;
        let read = self.archive.get_ref().read_exact_at(&mut version, at);
        read.map_err(unreadable)?;
        if version > VERSION_MAX {
            let doubt = "it asks for a version of zip that there is not";
            self.visitor.doubt(record.file_path().as_bytes(), doubt)?;
        }
        Ok(())
    }

    /// Compares where the directory is with what the records at the end say of it (APPNOTE.TXT, sections 4.3.14 to 4.3.16).
    fn check_end(&mut self) -> Result<()> {
        let bytes = self.archive.get_ref();
        let mut end = self.archive.eocd_offset();
        let mut locator = [0; 20];
        let before = end.checked_sub(locator.len() as u64);
        let stated = if let Some(at) = before
            && bytes.read_exact_at(&mut locator, at).is_ok()
            && locator.starts_with(ZIP64_LOCATOR)
        {
            let mut record = [0; 56];
            end = u64_at(&locator, 8);
            bytes.read_exact_at(&mut record, end).map_err(unreadable)?;
            [u64_at(&record, 40), u64_at(&record, 48)]
        } else {
            let mut record = [0; 22];
            bytes.read_exact_at(&mut record, end).map_err(unreadable)?;
            [u32_at(&record, 12).into(), u32_at(&record, 16).into()]
        };
        let start = self.archive.directory_offset();
        if stated != [end.wrapping_sub(start), start] {
            self.visitor
                .doubt(b"", "the directory is not where the archive says")?;
        }
        Ok(())
    }

    /// Looks for bytes that belong to no entry, or to two.
    fn check_places(&mut self) -> Result<()> {
        let mut places = std::mem::take(&mut self.places);
        places.push((self.archive.directory_offset(), 0, false));
        places.sort_unstable();
        let (mut at, mut has_descriptor) = (0, false);
        for place in places {
            let doubt = match (place.0.checked_sub(at), has_descriptor) {
                (Some(0), false) => None,
                (Some(gap), true) if DESCRIPTOR.contains(&gap) => None,
                (Some(_), _) => Some("bytes that belong to no entry"),
                (None, _) => Some("two entries share bytes"),
            };
            if let Some(doubt) = doubt {
                return self.visitor.doubt(b"", doubt);
            }
            (_, at, has_descriptor) = place;
        }
        Ok(())
    }
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    let bytes = record[at..].first_chunk().expect("within the record");
    u32::from_le_bytes(*bytes)
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    let bytes = record[at..].first_chunk().expect("within the record");
    u64::from_le_bytes(*bytes)
}

fn broken(error: rawzip::Error) -> Error {
    match error.into_kind() {
        ErrorKind::IO(error) => unreadable(error),
        kind => damaged(kind.to_string()),
    }
}
