//! One mapped pack file (gitformat-pack(5), "pack-*.pack files").
//!
//! A pack reads entry headers and gives access to the compressed data. It knows nothing of chains. Every
//! number in a pack is unverified: nothing is allocated or followed without a check.

use std::{hint::black_box, io, path::Path};

use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::Kind as ObjectKind;

use super::{index::Index, map::Map};
use sluice_base::error::Error;

/// `PACK`, version, number of objects.
const HEADER_LEN: usize = 12;
/// The highest ratio of deflate. A header that claims more is damaged.
pub const MAX_RATIO: u64 = 1032;

/// Why an entry cannot be read. The message is a cause in an error's chain, so it names no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage(pub &'static str);

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Damage {}

/// The content of a pack entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A whole object.
    Object(ObjectKind),
    /// A delta against the entry at this offset of the same pack.
    OfsDelta(u64),
    /// A delta against this object, in any pack.
    RefDelta(ObjectId),
}

/// The header of a pack entry.
#[derive(Debug, Clone, Copy)]
pub struct EntryHeader {
    /// The content of the entry.
    pub kind: EntryKind,
    /// The inflated size of the entry in bytes. For a delta, the size of the delta.
    pub size: u64,
    /// The offset of the zlib stream in the pack.
    pub data: u64,
}

/// A pack, mapped as a whole.
pub struct Pack {
    map: Map,
    hash: HashKind,
    /// The end of the entries, where the checksum begins.
    end: usize,
}

impl Pack {
    /// Map the pack at `path`. Like git, refuse a pack that does not match its `index`.
    pub fn open(path: &Path, hash: HashKind, index: Option<&Index>) -> io::Result<Self> {
        let (map, end) = Map::parsed(path, |map| end_of_entries(map, hash, index))?;
        Ok(Self { map, hash, end })
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.map.len() as u64
    }

    /// Release the mapped pages that were read so far.
    pub fn release(&self) {
        self.map.release();
    }

    /// Load the headers of the entries at `offsets` into the processor's cache, all at once.
    pub fn touch<'a>(&self, offsets: impl Iterator<Item = &'a u64>) {
        let first = offsets.filter_map(|&offset| self.map.get(offset as usize));
        black_box(first.fold(0, |all, byte| all ^ byte));
    }

    /// The mapped file.
    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// The error of the first read of this pack that has failed, if one has. Its bytes are zeros since then.
    pub fn failure(&self) -> Option<Error> {
        self.map.failure()
    }

    /// Asks the system for the bytes from `start` to `end`, without waiting.
    pub(super) fn ask(&self, start: u64, end: u64) {
        self.map.ask(start as usize..end as usize);
    }

    /// Read the header of the entry at `offset`.
    pub fn header(&self, offset: u64) -> Result<EntryHeader, Damage> {
        let truncated = Damage("pack entry is truncated");
        let mut at = usize::try_from(offset).map_err(|_| truncated)?;
        if at < HEADER_LEN || at >= self.end {
            return Err(Damage("pack entry lies outside of the pack"));
        }
        let mut next = || {
            let byte = *self.map[..self.end].get(at).ok_or(truncated)?;
            at += 1;
            Ok(byte)
        };
        let mut byte = next()?;
        let code = (byte >> 4) & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = next()?;
            if shift > 57 {
                return Err(Damage("size of a pack entry is out of range"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let kind = match code {
            1 => EntryKind::Object(ObjectKind::Commit),
            2 => EntryKind::Object(ObjectKind::Tree),
            3 => EntryKind::Object(ObjectKind::Blob),
            4 => EntryKind::Object(ObjectKind::Tag),
            6 => {
                let mut byte = next()?;
                let mut distance = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    if distance >= 1 << 56 {
                        return Err(Damage("offset of a delta base is out of range"));
                    }
                    distance = ((distance + 1) << 7) | u64::from(byte & 0x7f);
                }
                match offset.checked_sub(distance) {
                    Some(base) if distance > 0 => EntryKind::OfsDelta(base),
                    _ => return Err(Damage("offset of a delta base is out of range")),
                }
            }
            7 => {
                let end = at + self.hash.len_in_bytes();
                let id = self.map[..self.end].get(at..end).ok_or(truncated)?;
                at = end;
                EntryKind::RefDelta(ObjectId::from_bytes_or_panic(id))
            }
            _ => return Err(Damage("unknown type of pack entry")),
        };
        if size / MAX_RATIO > (self.end - at) as u64 {
            return Err(Damage("pack entry claims more than its data can hold"));
        }
        Ok(EntryHeader {
            kind,
            size,
            data: at as u64,
        })
    }

    /// The bytes from `data` (see [`EntryHeader::data`]) to the end of the entries: a zlib stream and the
    /// entries after it.
    pub fn stream(&self, data: u64) -> &[u8] {
        &self.map[data as usize..self.end]
    }
}

/// Where the checksum of the pack in `map` begins. Fails if the pack does not match its `index`.
fn end_of_entries(map: &Map, hash: HashKind, index: Option<&Index>) -> Result<usize, &'static str> {
    let Some(end) = map.len().checked_sub(hash.len_in_bytes()) else {
        return Err("pack is too short");
    };
    // Both ends of the pack are read, and the end of the index.
    map.ask(0..HEADER_LEN);
    map.ask(end..map.len());
    if let Some(index) = index {
        index.ask_for_checksums();
    }
    if end < HEADER_LEN {
        return Err("pack is too short");
    }
    if !map.starts_with(b"PACK") || !matches!(map[4..8], [0, 0, 0, 2 | 3]) {
        return Err("not a pack of a known version");
    }
    if let Some(index) = index {
        let count = u32::from_be_bytes([map[8], map[9], map[10], map[11]]);
        if count as usize != index.count() || &map[end..] != index.pack_checksum() {
            return Err("pack does not match its index");
        }
    }
    Ok(end)
}
