//! Pack indices (`pack-*.idx`, versions 1 and 2; gitformat-pack(5), "pack-*.idx files").
//!
//! Opening one costs a map and a check of its size, whatever its number of objects. A lookup
//! guesses by interpolation, since object ids are evenly spread, and so touches one or two pages
//! where a plain binary search of a large index touches five. Nothing in the file is believed
//! beyond its own bounds.

use std::{io, path::Path};

use gix::{
    ObjectId,
    hash::{Kind, oid},
};

use super::map::Map;

const FANOUT_LEN: usize = 256 * 4;
const V2_SIGNATURE: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// The offset has 63 bits and stands in the second table.
const LARGE_OFFSET: u32 = 1 << 31;
/// Entries either side of the guess that are searched first: within a page for SHA-1.
const GUESS_RADIUS: usize = 64;

/// One mapped index.
pub struct Index {
    map: Map,
    /// Where the fan-out table begins.
    fanout: usize,
    /// Where the ids begin, and how many bytes lie between one and the next.
    names: usize,
    stride: usize,
    /// Where the 32-bit offsets begin, and how many bytes lie between one and the next.
    offsets: usize,
    offset_stride: usize,
    /// Where the 64-bit offsets begin (version 2).
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
        let index = if map.starts_with(&V2_SIGNATURE) {
            let fanout = V2_SIGNATURE.len();
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
            let count = last_fanout(&map, 0)?;
            Self {
                fanout: 0,
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
        let trailer = 2 * hash_len;
        (index.map.len() >= index.large_offsets + trailer).then_some(index)
    }

    /// The number of objects in the pack.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The checksum of the pack this index belongs to.
    pub fn pack_checksum(&self) -> &[u8] {
        let end = self.map.len() - self.hash_len;
        &self.map[end - self.hash_len..end]
    }

    /// The offset of the object `id` in the pack.
    pub fn lookup(&self, id: &oid) -> Option<u64> {
        self.offset(self.position(id)?)
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

    /// The object at `offset` of the pack, found by looking at every one.
    pub fn id_at(&self, offset: u64) -> Option<ObjectId> {
        let position = (0..self.count).find(|&position| self.offset(position) == Some(offset))?;
        Some(ObjectId::from_bytes_or_panic(self.name(position)))
    }

    fn position(&self, id: &oid) -> Option<usize> {
        let id = id.as_bytes();
        let first = usize::from(id[0]);
        let mut low = match first {
            0 => 0,
            _ => be_u32(&self.map, self.fanout + (first - 1) * 4)? as usize,
        };
        let mut high = (be_u32(&self.map, self.fanout + first * 4)? as usize).min(self.count);
        if low >= high {
            return None;
        }
        let key = u64::from(u32::from_be_bytes([id[1], id[2], id[3], id[4]]));
        let guess = low + (((high - low) as u64 * key) >> 32) as usize;
        let left = guess.saturating_sub(GUESS_RADIUS).max(low);
        let right = (guess + GUESS_RADIUS).min(high);
        match (
            left > low && self.name(left) > id,
            right < high && self.name(right) <= id,
        ) {
            (true, _) => high = left,
            (_, true) => low = right,
            _ => (low, high) = (left, right),
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn name(&self, position: usize) -> &[u8] {
        let at = self.names + position * self.stride;
        &self.map[at..at + self.hash_len]
    }
}

fn last_fanout(map: &[u8], fanout: usize) -> Option<usize> {
    be_u32(map, fanout + 255 * 4).map(|count| count as usize)
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().expect("four bytes")))
}
