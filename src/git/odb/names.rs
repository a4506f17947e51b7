//! The sorted ids of an index with their fan-out table, which pack indices and multi-pack indices share
//! (gitformat-pack(5), "pack-*.idx files" and "multi-pack-index (MIDX) files").
//!
//! Object ids are evenly spread, so a lookup guesses by interpolation, then estimates from the id at the guess how far off it
//! is. A lookup touches three or four cache lines of one or two pages; a plain binary search of a large index touches ten
//! lines of five pages. Every number in the file is checked against the bounds of the file.

use std::{cmp::Ordering, hint::black_box};

use gix::{ObjectId, hash::oid};

use super::map::Map;

/// The bytes of a fan-out table.
pub(super) const FANOUT_LEN: usize = 256 * 4;
/// Bytes that the system reads at least.
const PAGE: usize = 4096;
/// The pages that one look-up reads, about.
const PAGES_OF_LOOKUP: usize = 4;
/// Guesses before the rest is bisected. An index may hold ids that are not evenly spread.
const GUESSES: usize = 8;

/// Where the ids are in a mapped index.
#[derive(Clone, Copy)]
pub(super) struct NameTable {
    /// The offset of the fan-out table in the file.
    fanout: usize,
    /// The offset of the ids in the file, and the distance from one id to the next in bytes.
    names: usize,
    stride: usize,
    count: usize,
    hash_len: usize,
}

impl NameTable {
    /// The table with the fan-out at `fanout`, and ids of `hash_len` bytes from `names` on, `stride` bytes from each other.
    /// `None` if the fan-out does not ascend. The caller checks that the file has all ids.
    pub(super) fn new(
        map: &[u8],
        fanout: usize,
        (names, stride): (usize, usize),
        hash_len: usize,
    ) -> Option<Self> {
        let numbers = map.get(fanout..fanout + FANOUT_LEN)?;
        // Big-endian numbers compare as their bytes do.
        let ascends = numbers.chunks_exact(4).is_sorted();
        let count = be_u32(map, fanout + 255 * 4)? as usize;
        ascends.then_some(Self {
            fanout,
            names,
            stride,
            count,
            hash_len,
        })
    }

    /// The number of ids.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The position of each of `ids`, in their order. The first read for each id is done for all ids together, so that their
    /// waits for memory overlap.
    pub(super) fn positions(&self, map: &[u8], ids: &[ObjectId]) -> Vec<Option<usize>> {
        let first = |id: &ObjectId| {
            let bucket = self.bucket(map, id.as_bytes());
            bucket.map_or(0, |bucket| self.name(map, bucket.guess(id.as_bytes()))[0])
        };
        black_box(ids.iter().fold(0, |all, id| all ^ first(id)));
        ids.iter().map(|id| self.position(map, id)).collect()
    }

    /// The position of `id`.
    pub(super) fn position(&self, map: &[u8], id: &oid) -> Option<usize> {
        let id = id.as_bytes();
        let bucket = self.bucket(map, id)?;
        let Bucket { mut low, mut high } = bucket;
        let mut at = bucket.guess(id);
        for _ in 0..GUESSES {
            at = at.clamp(low, high - 1);
            let name = self.name(map, at);
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
        self.bisect(map, id, low, high)
    }

    /// The id at `position`.
    pub(super) fn id(&self, map: &[u8], position: usize) -> ObjectId {
        ObjectId::from_bytes_or_panic(self.name(map, position))
    }

    /// Asks the system for the pages that a look-up of each of `ids` will read, without waiting: of the ids, and of the
    /// offsets, which are `offset_stride` bytes apart from `offsets` on.
    pub(super) fn ask(
        &self,
        map: &Map,
        ids: &[ObjectId],
        (offsets, offset_stride): (usize, usize),
    ) {
        // All of them, if most are wanted.
        if ids.len() * PAGES_OF_LOOKUP >= self.count * self.stride / PAGE {
            return self.ask_for_all(map, (offsets, offset_stride));
        }
        for id in ids {
            let Some(bucket) = self.bucket(map, id.as_bytes()) else {
                continue;
            };
            let position = bucket.guess(id.as_bytes());
            let name = self.names + position * self.stride;
            map.ask(name.saturating_sub(PAGE / 4)..name + PAGE / 4);
            let offset = offsets + position * offset_stride;
            map.ask(offset..offset + offset_stride);
        }
    }

    /// Asks the system for the pages of all ids and offsets.
    pub(super) fn ask_for_all(&self, map: &Map, (offsets, offset_stride): (usize, usize)) {
        map.ask(self.names..self.names + self.count * self.stride);
        map.ask(offsets..offsets + self.count * offset_stride);
    }

    /// Whether a sample of the pages of ids and offsets is in memory.
    pub(super) fn is_in_memory(&self, map: &Map, (offsets, stride): (usize, usize)) -> bool {
        map.is_in_memory(self.names..self.names + self.count * self.stride)
            && map.is_in_memory(offsets..offsets + self.count * stride)
    }

    /// The range of the ids with the same first byte as `id`, if there are any.
    fn bucket(&self, map: &[u8], id: &[u8]) -> Option<Bucket> {
        let first = usize::from(id[0]);
        let low = match first {
            0 => 0,
            _ => be_u32(map, self.fanout + (first - 1) * 4)? as usize,
        };
        let high = (be_u32(map, self.fanout + first * 4)? as usize).min(self.count);
        (low < high).then_some(Bucket { low, high })
    }

    fn bisect(&self, map: &[u8], id: &[u8], mut low: usize, mut high: usize) -> Option<usize> {
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(map, middle).cmp(id) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn name<'a>(&self, map: &'a [u8], position: usize) -> &'a [u8] {
        let at = self.names + position * self.stride;
        &map[at..at + self.hash_len]
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

/// The number in the four bytes at `at`.
pub(super) fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The number in the eight bytes at `at`.
pub(super) fn be_u64(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}
