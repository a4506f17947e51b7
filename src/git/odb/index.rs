//! Pack indices (`pack-*.idx`, versions 1 and 2; gitformat-pack(5), "pack-*.idx files").
//!
//! Opening an index costs a map and a check of its size, whatever its number of objects. Object ids are
//! evenly spread, so a lookup guesses by interpolation, then estimates from the id at the guess how far off
//! it is. A lookup touches three or four cache lines of one or two pages; a plain binary search of a large
//! index touches ten lines of five pages. Every number in the file is checked against the bounds of the
//! file.

use std::{cmp::Ordering, hint::black_box, io, path::Path};

use gix::{
    ObjectId,
    hash::{Kind, oid},
};

use super::map::Map;

const FANOUT_LEN: usize = 256 * 4;
const V2_SIGNATURE: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// Flag of an offset of 63 bits, which is stored in the second table.
const LARGE_OFFSET: u32 = 1 << 31;
/// Bytes that the system reads at least.
const PAGE: usize = 4096;
/// The pages that one look-up reads, about.
const PAGES_OF_LOOKUP: usize = 4;
/// Guesses before the rest is bisected. An index may hold ids that are not evenly spread.
const GUESSES: usize = 8;

/// One mapped index.
pub struct Index {
    map: Map,
    /// The offset of the fan-out table in the file.
    fanout: usize,
    /// The offset of the ids in the file, and the distance from one id to the next in bytes.
    names: usize,
    stride: usize,
    /// The offset of the 32-bit offsets in the file, and the distance from one to the next in bytes.
    offsets: usize,
    offset_stride: usize,
    /// The offset of the 64-bit offsets in the file (version 2).
    large_offsets: usize,
    count: usize,
    hash_len: usize,
}

impl Index {
    /// Map and check the index at `path`.
    pub fn open(path: &Path, hash: Kind) -> io::Result<Self> {
        let map = Map::open(path)?;
        Self::parse(map, hash.len_in_bytes())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a valid pack index"))
    }

    fn parse(map: Map, hash_len: usize) -> Option<Self> {
        let is_v2 = map.starts_with(&V2_SIGNATURE);
        let fanout = if is_v2 { V2_SIGNATURE.len() } else { 0 };
        if !ascends(map.get(fanout..fanout + FANOUT_LEN)?) {
            return None;
        }
        let index = if is_v2 {
            let names = fanout + FANOUT_LEN;
            let count = last_fanout(&map, fanout)?;
            let crcs = names + count * hash_len;
            let offsets = crcs + count * 4;
            Self {
                fanout,
                names,
                stride: hash_len,
                offsets,
                offset_stride: 4,
                large_offsets: offsets + count * 4,
                count,
                hash_len,
                map,
            }
        } else {
            let count = last_fanout(&map, fanout)?;
            Self {
                fanout,
                names: FANOUT_LEN + 4,
                stride: hash_len + 4,
                offsets: FANOUT_LEN,
                offset_stride: hash_len + 4,
                large_offsets: FANOUT_LEN + count * (hash_len + 4),
                count,
                hash_len,
                map,
            }
        };
        let shortest = index.large_offsets + 2 * hash_len;
        let longest = match is_v2 {
            true => shortest + index.count.saturating_sub(1) * 8,
            false => shortest,
        };
        (shortest..=longest)
            .contains(&index.map.len())
            .then_some(index)
    }

    /// The number of objects in the pack.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The checksum of the pack that belongs to this index.
    pub fn pack_checksum(&self) -> &[u8] {
        let end = self.map.len() - self.hash_len;
        &self.map[end - self.hash_len..end]
    }

    /// The offset of the object `id` in the pack.
    pub fn lookup(&self, id: &oid) -> Option<u64> {
        self.offset(self.position(id)?)
    }

    /// The offset of each of `ids` in the pack, in their order. The first read for each id is done for all
    /// ids together, so that their waits for memory overlap.
    pub fn lookup_all(&self, ids: &[ObjectId]) -> Vec<Option<u64>> {
        let first = |id: &ObjectId| {
            let bucket = self.bucket(id.as_bytes());
            bucket.map_or(0, |bucket| self.name(bucket.guess(id.as_bytes()))[0])
        };
        black_box(ids.iter().fold(0, |all, id| all ^ first(id)));
        let positions: Vec<_> = ids.iter().map(|id| self.position(id)).collect();
        let offset = |position: Option<usize>| self.offset(position?);
        positions.into_iter().map(offset).collect()
    }

    /// Asks the system for the pages that a look-up of each of `ids` will read, without waiting.
    pub(super) fn ask(&self, ids: &[ObjectId]) {
        let names = self.count * self.stride;
        // The whole table, if most of its pages are wanted.
        if ids.len() * PAGES_OF_LOOKUP >= names / PAGE {
            self.map.ask(self.names..self.names + names);
            self.map
                .ask(self.offsets..self.offsets + self.count * self.offset_stride);
            return;
        }
        for id in ids {
            let Some(bucket) = self.bucket(id.as_bytes()) else {
                continue;
            };
            let position = bucket.guess(id.as_bytes());
            let name = self.names + position * self.stride;
            self.map.ask(name.saturating_sub(PAGE / 4)..name + PAGE / 4);
            let offset = self.offsets + position * self.offset_stride;
            self.map.ask(offset..offset + self.offset_stride);
        }
    }

    /// Whether the index seems to be in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        self.map.is_in_memory()
    }

    fn offset(&self, position: usize) -> Option<u64> {
        let at = self.offsets + position * self.offset_stride;
        let offset = be_u32(&self.map, at)?;
        if self.offset_stride != 4 || offset & LARGE_OFFSET == 0 {
            return Some(u64::from(offset));
        }
        let at = self.large_offsets + (offset & !LARGE_OFFSET) as usize * 8;
        let end = self.map.len() - 2 * self.hash_len;
        let bytes = self.map[..end].get(at..at + 8)?;
        Some(u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// The id of the object at `offset` of the pack, by a search of all entries.
    pub fn id_at(&self, offset: u64) -> Option<ObjectId> {
        let position = (0..self.count).find(|&position| self.offset(position) == Some(offset))?;
        Some(ObjectId::from_bytes_or_panic(self.name(position)))
    }

    fn position(&self, id: &oid) -> Option<usize> {
        let id = id.as_bytes();
        let bucket = self.bucket(id)?;
        let Bucket { mut low, mut high } = bucket;
        let mut at = bucket.guess(id);
        for _ in 0..GUESSES {
            at = at.clamp(low, high - 1);
            let name = self.name(at);
            match name.cmp(id) {
                Ordering::Equal => return Some(at),
                Ordering::Less => {
                    low = at + 1;
                    at = low + bucket.share(spread(id).saturating_sub(spread(name)));
                }
                Ordering::Greater => {
                    high = at;
                    let back = 1 + bucket.share(spread(name).saturating_sub(spread(id)));
                    at = at.saturating_sub(back);
                }
            }
            if low >= high {
                return None;
            }
        }
        self.bisect(id, low, high)
    }

    /// The range of the ids with the same first byte as `id`, if there are any.
    fn bucket(&self, id: &[u8]) -> Option<Bucket> {
        let first = usize::from(id[0]);
        let low = match first {
            0 => 0,
            _ => be_u32(&self.map, self.fanout + (first - 1) * 4)? as usize,
        };
        let high = (be_u32(&self.map, self.fanout + first * 4)? as usize).min(self.count);
        (low < high).then_some(Bucket { low, high })
    }

    fn bisect(&self, id: &[u8], mut low: usize, mut high: usize) -> Option<usize> {
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).cmp(id) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn name(&self, position: usize) -> &[u8] {
        let at = self.names + position * self.stride;
        &self.map[at..at + self.hash_len]
    }
}

/// The non-empty range of the ids with the same first byte.
#[derive(Clone, Copy)]
struct Bucket {
    low: usize,
    high: usize,
}

impl Bucket {
    /// The expected position of `id`, if ids are evenly spread.
    fn guess(self, id: &[u8]) -> usize {
        self.low + self.share(spread(id))
    }

    /// The number of ids in the fraction `part` of 2^32.
    fn share(self, part: u64) -> usize {
        (((self.high - self.low) as u64 * part) >> 32) as usize
    }
}

/// The position of an id among those with the same first byte, as a fraction of 2^32.
fn spread(id: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes([id[1], id[2], id[3], id[4]]))
}

/// Whether the numbers of this fan-out table ascend.
fn ascends(fanout: &[u8]) -> bool {
    // Big-endian numbers compare as their bytes do.
    fanout.chunks_exact(4).is_sorted()
}

fn last_fanout(map: &[u8], fanout: usize) -> Option<usize> {
    be_u32(map, fanout + 255 * 4).map(|count| count as usize)
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().expect("four bytes")))
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
