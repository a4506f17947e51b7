//! Pack indices (`pack-*.idx`, versions 1 and 2; gitformat-pack(5), "pack-*.idx files").
//!
//! Opening an index costs a map and a check of its size, whatever its number of objects. Every number in the file is checked
//! against the bounds of the file.

use std::{io, path::Path};

use gix::{
    ObjectId,
    hash::{Kind, oid},
};

use super::{
    map::Map,
    names::{FANOUT_LEN, NameTable, be_u32, be_u64},
};

const V2_SIGNATURE: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// Flag of an offset of 63 bits, which is stored in the second table.
pub(super) const LARGE_OFFSET: u32 = 1 << 31;

/// One mapped index.
pub struct Index {
    map: Map,
    tables: Tables,
}

/// Where everything is in the file.
struct Tables {
    names: NameTable,
    /// The offset of the 32-bit offsets in the file, and the distance from one to the next in bytes.
    offsets: usize,
    offset_stride: usize,
    /// The 64-bit offsets, to the checksums at the end (version 2).
    large_offsets: usize,
    end: usize,
}

impl Index {
    /// Map and check the index at `path`.
    pub fn open(path: &Path, hash: Kind) -> io::Result<Self> {
        let map = Map::open(path)?;
        let tables = Tables::parse(&map, hash.len_in_bytes());
        map.check()?;
        match tables {
            Some(tables) => Ok(Self { map, tables }),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a valid pack index",
            )),
        }
    }

    /// The mapped file.
    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// The number of objects in the pack.
    pub fn count(&self) -> usize {
        self.tables.names.count()
    }

    /// The checksum of the pack that belongs to this index.
    pub fn pack_checksum(&self) -> &[u8] {
        let hash_len = (self.map.len() - self.tables.end) / 2;
        &self.map[self.tables.end..self.tables.end + hash_len]
    }

    /// The offset of the object `id` in the pack.
    pub fn lookup(&self, id: &oid) -> Option<u64> {
        self.offset(self.tables.names.position(&self.map, id)?)
    }

    /// The offset of each of `ids` in the pack, in their order.
    pub fn lookup_all(&self, ids: &[ObjectId]) -> Vec<Option<u64>> {
        let positions = self.tables.names.positions(&self.map, ids);
        let offset = |position: Option<usize>| self.offset(position?);
        positions.into_iter().map(offset).collect()
    }

    /// Asks the system for the pages that a look-up of each of `ids` will read, without waiting.
    pub(super) fn ask(&self, ids: &[ObjectId]) {
        let offsets = (self.tables.offsets, self.tables.offset_stride);
        self.tables.names.ask(&self.map, ids, offsets);
    }

    /// Whether a sample of the pages that look-ups read is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        let offsets = (self.tables.offsets, self.tables.offset_stride);
        self.tables.names.is_in_memory(&self.map, offsets)
    }

    /// Asks the system for the pages of all look-ups, unless they have more than `max_bytes`.
    pub(super) fn ask_for_all(&self, max_bytes: u64) {
        if self.map.len() as u64 <= max_bytes {
            let offsets = (self.tables.offsets, self.tables.offset_stride);
            self.tables.names.ask_for_all(&self.map, offsets);
        }
    }

    /// Asks the system for the end of the file.
    pub(super) fn ask_for_checksums(&self) {
        self.map.ask(self.tables.end..self.map.len());
    }

    /// The id of the object at `offset` of the pack, by a search of all entries.
    pub fn id_at(&self, offset: u64) -> Option<ObjectId> {
        let mut positions = 0..self.count();
        let position = positions.find(|&position| self.offset(position) == Some(offset))?;
        Some(self.tables.names.id(&self.map, position))
    }

    fn offset(&self, position: usize) -> Option<u64> {
        let tables = &self.tables;
        let offset = be_u32(&self.map, tables.offsets + position * tables.offset_stride)?;
        if tables.offset_stride != 4 || offset & LARGE_OFFSET == 0 {
            return Some(u64::from(offset));
        }
        let at = tables.large_offsets + (offset & !LARGE_OFFSET) as usize * 8;
        be_u64(&self.map[..tables.end], at)
    }
}

impl Tables {
    fn parse(map: &[u8], hash_len: usize) -> Option<Self> {
        let end = map.len().checked_sub(2 * hash_len)?;
        match map.strip_prefix(&V2_SIGNATURE) {
            Some(_) => Self::of_version_2(map, hash_len, end),
            None => Self::of_version_1(map, hash_len, end),
        }
    }

    fn of_version_1(map: &[u8], hash_len: usize, end: usize) -> Option<Self> {
        let stride = 4 + hash_len;
        let names = NameTable::new(map, 0, (FANOUT_LEN + 4, stride), hash_len)?;
        let large_offsets = FANOUT_LEN + names.count() * stride;
        (large_offsets == end).then_some(Self {
            names,
            offsets: FANOUT_LEN,
            offset_stride: stride,
            large_offsets,
            end,
        })
    }

    fn of_version_2(map: &[u8], hash_len: usize, end: usize) -> Option<Self> {
        let fanout = V2_SIGNATURE.len();
        let ids = fanout + FANOUT_LEN;
        let names = NameTable::new(map, fanout, (ids, hash_len), hash_len)?;
        let count = names.count();
        let checksums = ids + count * hash_len;
        let offsets = checksums + count * 4;
        let large_offsets = offsets + count * 4;
        let longest = large_offsets + count.saturating_sub(1) * 8;
        (large_offsets..=longest).contains(&end).then_some(Self {
            names,
            offsets,
            offset_stride: 4,
            large_offsets,
            end,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use gix::{ObjectId, hash::Kind};
    use proptest::prelude::*;

    use super::{Index, V2_SIGNATURE};

    /// An index of version 2 of the objects `ids`. Each object's offset is its number.
    fn index(ids: &[[u8; 20]]) -> Index {
        let mut bytes = V2_SIGNATURE.to_vec();
        for first in 0..=255 {
            let upto = ids.iter().filter(|id| id[0] <= first).count() as u32;
            bytes.extend(upto.to_be_bytes());
        }
        bytes.extend(ids.concat());
        bytes.extend(vec![0; 4 * ids.len()]);
        bytes.extend((0..ids.len() as u32).flat_map(u32::to_be_bytes));
        bytes.extend([0; 40]);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        Index::open(file.path(), Kind::Sha1).unwrap()
    }

    /// Ids of few byte values, which crowd together, or of all values.
    fn id() -> impl Strategy<Value = [u8; 20]> {
        prop_oneof![
            any::<[u8; 20]>(),
            prop::array::uniform20(prop_oneof![0..3_u8, 253..=255_u8]),
            (0..4_u8, any::<u8>(), 0..4_u8).prop_map(|(first, second, last)| {
                let mut id = [first; 20];
                (id[1], id[19]) = (second, last);
                id
            }),
        ]
    }

    proptest! {
        #[test]
        fn ids_are_found_where_they_are(
            mut ids in prop::collection::vec(id(), 0..300),
            others in prop::collection::vec(id(), 0..100),
            sorted in prop::bool::weighted(0.9),
        ) {
            if sorted {
                ids.sort_unstable();
                ids.dedup();
            }
            let index = index(&ids);
            let wanted: Vec<_> = ids.iter().chain(&others).collect();
            let wanted_ids: Vec<_> =
                wanted.iter().map(|id| ObjectId::from_bytes_or_panic(*id)).collect();
            let found = index.lookup_all(&wanted_ids);
            for ((id, oid), found) in wanted.into_iter().zip(&wanted_ids).zip(found) {
                prop_assert_eq!(found, index.lookup(oid));
                let number = ids.iter().position(|other| other == id);
                // In a damaged index some ids are not found, and every id found has its own offset.
                match found {
                    None => prop_assert!(!sorted || number.is_none()),
                    Some(at) => prop_assert_eq!(ids[at as usize], *id),
                }
            }
        }
    }
}
