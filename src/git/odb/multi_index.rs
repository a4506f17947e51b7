//! Multi-pack indices (gitformat-pack(5), "multi-pack-index (MIDX) files have the following format").
//!
//! Must not open a pack. Every number in the file is checked against the bounds of the file.

use std::{
    ffi::OsStr,
    io,
    ops::Range,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::{
    ObjectId,
    hash::{Kind, oid},
};

use super::{
    index::LARGE_OFFSET,
    map::Map,
    names::{FANOUT_LEN, NameTable, be_u32, be_u64},
};

/// Signature, version, hash function, number of chunks, number of base files, number of packs.
const HEADER_LEN: usize = 12;
/// An entry of the table of chunks: a name and an offset.
const CHUNK_LEN: usize = 4 + 8;
/// An entry of the table of offsets: the number of a pack and an offset.
const OFFSET_LEN: usize = 4 + 4;

/// One mapped index of several packs.
pub(super) struct MultiIndex {
    map: Map,
    tables: Tables,
}

/// Where everything is in the file.
struct Tables {
    packs: Vec<PathBuf>,
    names: NameTable,
    offsets: usize,
    /// Without this table, offsets have 32 bits.
    large_offsets: Option<Range<usize>>,
}

impl MultiIndex {
    /// Map and check the multi-pack index at `path`.
    pub(super) fn open(path: &Path, hash: Kind) -> io::Result<Self> {
        let map = Map::open(path)?;
        let tables = Tables::parse(&map, hash);
        map.check()?;
        match tables {
            Some(tables) => Ok(Self { map, tables }),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a valid multi-pack index",
            )),
        }
    }

    /// The mapped file.
    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// The file names of the indices of the packs, in the order in which the packs are numbered.
    pub(super) fn packs(&self) -> &[PathBuf] {
        &self.tables.packs
    }

    /// The number of the pack with the object `id`, and the offset in this pack.
    pub(super) fn lookup(&self, id: &oid) -> Option<(usize, u64)> {
        self.location(self.tables.names.position(&self.map, id)?)
    }

    /// The id of the object at `offset` of the pack of this number, by a search of all entries.
    pub(super) fn id_at(&self, pack: usize, offset: u64) -> Option<ObjectId> {
        let mut positions = 0..self.tables.names.count();
        let wanted = Some((pack, offset));
        let position = positions.find(|&position| self.location(position) == wanted)?;
        Some(self.tables.names.id(&self.map, position))
    }

    /// Asks the system for the pages that a look-up of each of `ids` will read, without waiting.
    pub(super) fn ask(&self, ids: &[ObjectId]) {
        let offsets = (self.tables.offsets, OFFSET_LEN);
        self.tables.names.ask(&self.map, ids, offsets);
    }

    /// Whether a sample of the pages that look-ups read is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        let offsets = (self.tables.offsets, OFFSET_LEN);
        self.tables.names.is_in_memory(&self.map, offsets)
    }

    /// Asks the system for the pages of all look-ups, unless they have more than `max_bytes`.
    pub(super) fn ask_for_all(&self, max_bytes: u64) {
        if self.map.len() as u64 <= max_bytes {
            let offsets = (self.tables.offsets, OFFSET_LEN);
            self.tables.names.ask_for_all(&self.map, offsets);
        }
    }

    fn location(&self, position: usize) -> Option<(usize, u64)> {
        let at = self.tables.offsets + position * OFFSET_LEN;
        let pack = be_u32(&self.map, at)? as usize;
        let offset = be_u32(&self.map, at + 4)?;
        let offset = match &self.tables.large_offsets {
            Some(large) if offset & LARGE_OFFSET != 0 => {
                let at = (offset & !LARGE_OFFSET) as usize * 8;
                be_u64(&self.map[large.clone()], at)?
            }
            _ => u64::from(offset),
        };
        (pack < self.tables.packs.len()).then_some((pack, offset))
    }
}

impl Tables {
    fn parse(map: &[u8], hash: Kind) -> Option<Self> {
        let hash_number = match hash {
            Kind::Sha1 => 1,
            _ => 2,
        };
        let [version, of_hash, chunks, _bases] = *map.strip_prefix(b"MIDX")?.first_chunk()?;
        if (version, of_hash) != (1, hash_number) {
            return None;
        }
        let (chunks, packs) = (usize::from(chunks), be_u32(map, 8)?);
        let chunk = |name: &[u8; 4]| chunk(map, chunks, name);
        let hash_len = hash.len_in_bytes();
        let (fanout, ids, offsets) = (chunk(b"OIDF")?, chunk(b"OIDL")?, chunk(b"OOFF")?);
        let names = NameTable::new(map, fanout.start, (ids.start, hash_len), hash_len)?;
        let lengths = (fanout.len(), ids.len(), offsets.len());
        let count = names.count();
        let is_right = lengths == (FANOUT_LEN, count * hash_len, count * OFFSET_LEN);
        is_right.then_some(Self {
            packs: file_names(&map[chunk(b"PNAM")?], packs as usize)?,
            names,
            offsets: offsets.start,
            large_offsets: chunk(b"LOFF"),
        })
    }
}

/// The bytes of the chunk `name`, which end where the next chunk begins.
fn chunk(map: &[u8], chunks: usize, name: &[u8; 4]) -> Option<Range<usize>> {
    let entry = |number: usize| HEADER_LEN + number * CHUNK_LEN;
    let mut numbers = 0..chunks;
    let number = numbers.find(|&number| {
        map.get(entry(number)..)
            .is_some_and(|it| it.starts_with(name))
    })?;
    let start = be_u64(map, entry(number) + 4)? as usize;
    let end = be_u64(map, entry(number + 1) + 4)? as usize;
    (start <= end && end <= map.len()).then_some(start..end)
}

/// The `count` names in `chunk`, each with a NUL at its end. A name with a slash would lead out of the directory.
fn file_names(chunk: &[u8], count: usize) -> Option<Vec<PathBuf>> {
    let names = chunk.split(|&byte| byte == 0).take(count);
    let is_name = |name: &&[u8]| !name.is_empty() && !name.contains(&b'/');
    let names: Vec<PathBuf> = names
        .take_while(is_name)
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect();
    (names.len() == count).then_some(names)
}
