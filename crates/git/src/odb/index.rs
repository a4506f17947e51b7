//! Pack indices (`pack-*.idx`, versions 1 and 2; gitformat-pack(5), "pack-*.idx files").
//!
//! Opening an index costs a map and a check of its size, whatever its number of objects. Every number in the file is checked
//! against the bounds of the file.

use std::{io, path::Path};

use gix_hash::{Kind, ObjectId, oid};

use super::{
    map::Map,
    table::{Column, FANOUT_LEN, Layout, ObjectTable, count},
};

const V2_SIGNATURE: [u8; 8] = *b"\xfftOc\0\0\0\x02";

/// One mapped index.
pub struct Index {
    table: ObjectTable,
    /// The offset of the two checksums at the end of the file.
    checksums: usize,
}

impl Index {
    /// Map and check the index at `path`.
    pub fn open(path: &Path, hash: Kind) -> io::Result<Self> {
        let invalid = "not a valid pack index";
        let (map, layout) =
            Map::parsed(path, |map| layout(map, hash.len_in_bytes()).ok_or(invalid))?;
        Ok(Self {
            checksums: map.len() - 2 * hash.len_in_bytes(),
            table: ObjectTable::new(map, layout),
        })
    }

    /// The table of objects.
    pub(super) fn table(&self) -> &ObjectTable {
        &self.table
    }

    /// The number of objects in the pack.
    pub fn count(&self) -> usize {
        self.table.count()
    }

    /// The checksum of the pack that belongs to this index.
    pub fn pack_checksum(&self) -> &[u8] {
        let checksums = &self.table.map()[self.checksums..];
        &checksums[..checksums.len() / 2]
    }

    /// The offset of the object `id` in the pack.
    pub fn lookup(&self, id: &oid) -> Option<u64> {
        self.table.offset(self.table.position(id)?)
    }

    /// The offset of each of `ids` in the pack, in their order.
    pub fn lookup_all(&self, ids: &[ObjectId]) -> Vec<Option<u64>> {
        let positions = self.table.positions(ids);
        let offset = |position: Option<usize>| self.table.offset(position?);
        positions.into_iter().map(offset).collect()
    }

    /// Asks the system for the page with the checksums.
    pub(super) fn ask_for_checksums(&self) {
        let map = self.table.map();
        map.ask(self.checksums..map.len());
    }

    /// The id of the object at `offset` of the pack, by a search of all entries.
    pub fn id_at(&self, offset: u64) -> Option<ObjectId> {
        let mut positions = 0..self.count();
        let position = positions.find(|&it| self.table.offset(it) == Some(offset))?;
        Some(self.table.id(position))
    }
}

/// Where everything is in the index `map`, with ids of `id_len` bytes.
fn layout(map: &[u8], id_len: usize) -> Option<Layout> {
    let end = map.len().checked_sub(2 * id_len)?;
    if map.starts_with(&V2_SIGNATURE) {
        layout_of_version_2(map, id_len, end)
    } else {
        layout_of_version_1(map, id_len, end)
    }
}

/// The objects end at `end`. Each is an offset and an id.
fn layout_of_version_1(map: &[u8], id_len: usize, end: usize) -> Option<Layout> {
    let count = count(map, 0)?;
    let stride = 4 + id_len;
    let column = |start| Column { start, stride };
    (FANOUT_LEN + count * stride == end).then_some(Layout {
        count,
        fanout: 0,
        ids: column(FANOUT_LEN + 4),
        id_len,
        offsets: column(FANOUT_LEN),
        large_offsets: None,
    })
}

/// The 64-bit offsets end at `end`. No table says how many there are; the first object in a pack needs none.
fn layout_of_version_2(map: &[u8], id_len: usize, end: usize) -> Option<Layout> {
    let fanout = V2_SIGNATURE.len();
    let count = count(map, fanout)?;
    let column = |start, stride| Column { start, stride };
    let ids = column(fanout + FANOUT_LEN, id_len);
    let checksums = ids.start + count * id_len;
    let offsets = column(checksums + count * 4, 4);
    let large_offsets = offsets.start + count * 4;
    let longest = large_offsets + count.saturating_sub(1) * 8;
    (large_offsets..=longest).contains(&end).then_some(Layout {
        count,
        fanout,
        ids,
        id_len,
        offsets,
        large_offsets: Some(large_offsets..end),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use gix_hash::{Kind, ObjectId};
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
