//! The table of objects of an index: sorted ids with a fan-out table, and an offset for each. Pack indices and multi-pack indices
//! have one (gitformat-pack(5), "pack-*.idx files" and "multi-pack-index (MIDX) files").
//!
//! Object ids are evenly spread, so a lookup guesses by interpolation, then estimates from the id at the guess how far off it
//! is. A lookup touches three or four cache lines of one or two pages; a plain binary search of a large index touches ten
//! lines of five pages. Every number in the file is checked against the bounds of the file.

use std::{cmp::Ordering, hint::black_box, ops::Range};

use gix_hash::{ObjectId, oid};

use super::map::Map;

/// The bytes of a fan-out table.
pub(super) const FANOUT_LEN: usize = 256 * 4;
/// Flag of an offset that is stored in the table of 64-bit offsets.
const LARGE_OFFSET: u32 = 1 << 31;
/// Bytes that the system reads at least.
const PAGE: usize = 4096;
/// The pages that one look-up reads, about.
const PAGES_OF_LOOKUP: usize = 4;
/// Guesses before the rest is bisected. An index may hold ids that are not evenly spread.
const GUESSES: usize = 8;

/// Equal pieces of a file: the first byte, and the distance from one to the next in bytes.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) start: usize,
    pub(super) stride: usize,
}

impl Column {
    fn at(self, position: usize) -> usize {
        self.start + position * self.stride
    }

    fn bytes(self, count: usize) -> Range<usize> {
        self.start..self.at(count)
    }
}

/// Where everything is in the file of a table.
pub(super) struct Layout {
    pub(super) count: usize,
    /// The first byte of the fan-out table.
    pub(super) fanout: usize,
    pub(super) ids: Column,
    pub(super) id_len: usize,
    /// The 32-bit offsets.
    pub(super) offsets: Column,
    /// The 64-bit offsets. Without them, all 32 bits of the others are part of the offset.
    pub(super) large_offsets: Option<Range<usize>>,
}

/// The number of objects, from the fan-out table at `fanout`. `None` if the numbers of the table do not ascend.
pub(super) fn count(map: &[u8], fanout: usize) -> Option<usize> {
    let numbers = map.get(fanout..)?.get(..FANOUT_LEN)?;
    // Big-endian numbers compare as their bytes do.
    let ascends = numbers.chunks_exact(4).is_sorted();
    let count = be_u32(numbers, FANOUT_LEN - 4)?;
    ascends.then_some(count as usize)
}

/// A mapped table of objects.
pub(super) struct ObjectTable {
    map: Map,
    layout: Layout,
}

impl ObjectTable {
    /// The table in `map`, which has all of `layout`.
    pub(super) fn new(map: Map, layout: Layout) -> Self {
        Self { map, layout }
    }

    /// The mapped file.
    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// The number of objects.
    pub(super) fn count(&self) -> usize {
        self.layout.count
    }

    /// The position of each of `ids`, in their order. The first read for each id is done for all ids together, so that their
    /// waits for memory overlap.
    pub(super) fn positions(&self, ids: &[ObjectId]) -> Vec<Option<usize>> {
        let first = |id: &ObjectId| {
            let bucket = self.bucket(id.as_bytes());
            bucket.map_or(0, |bucket| self.name(bucket.guess(id.as_bytes()))[0])
        };
        black_box(ids.iter().fold(0, |all, id| all ^ first(id)));
        ids.iter().map(|id| self.position(id)).collect()
    }

    /// The position of `id`.
    pub(super) fn position(&self, id: &oid) -> Option<usize> {
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

    /// The ids that are not less than `id`, in order.
    pub(super) fn ids_from(&self, id: &oid) -> impl Iterator<Item = ObjectId> + '_ {
        let id = id.as_bytes();
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(middle) < id {
                low = middle + 1
            } else {
                high = middle
            }
        }
        (low..self.count()).map(|position| self.id(position))
    }

    /// The id at `position`.
    pub(super) fn id(&self, position: usize) -> ObjectId {
        ObjectId::from_bytes_or_panic(self.name(position))
    }

    /// The offset in the pack of the object at `position`.
    pub(super) fn offset(&self, position: usize) -> Option<u64> {
        let offset = be_u32(&self.map, self.layout.offsets.at(position))?;
        match &self.layout.large_offsets {
            Some(large) if offset & LARGE_OFFSET != 0 => {
                let number = (offset & !LARGE_OFFSET) as usize;
                be_u64(&self.map[large.clone()], number * 8)
            }
            _ => Some(u64::from(offset)),
        }
    }

    /// Asks the system for the pages that a look-up of each of `ids` will read, without waiting.
    pub(super) fn ask(&self, ids: &[ObjectId]) {
        let Layout { ids: names, .. } = &self.layout;
        // All of them, if most are wanted.
        if ids.len() * PAGES_OF_LOOKUP >= names.bytes(self.count()).len() / PAGE {
            return self.ask_for_all(u64::MAX);
        }
        for id in ids {
            let Some(bucket) = self.bucket(id.as_bytes()) else {
                continue;
            };
            let position = bucket.guess(id.as_bytes());
            let name = names.at(position);
            self.map.ask(name.saturating_sub(PAGE / 4)..name + PAGE / 4);
            let offset = self.layout.offsets.at(position);
            self.map.ask(offset..offset + 4);
        }
    }

    /// Asks the system for the pages of all look-ups, unless the file has more than `max_bytes`.
    pub(super) fn ask_for_all(&self, max_bytes: u64) {
        if self.map.len() as u64 <= max_bytes {
            self.map.ask(self.layout.ids.bytes(self.count()));
            self.map.ask(self.layout.offsets.bytes(self.count()));
        }
    }

    /// Whether a sample of the pages of ids and offsets is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        let Layout { ids, offsets, .. } = &self.layout;
        let mut columns = [ids, offsets].into_iter();
        columns.all(|column| self.map.is_in_memory(column.bytes(self.count())))
    }

    /// The range of the ids with the same first byte as `id`, if there are any.
    fn bucket(&self, id: &[u8]) -> Option<Bucket> {
        let first = usize::from(id[0]);
        let upto = |first: usize| be_u32(&self.map, self.layout.fanout + first * 4);
        let low = match first {
            0 => 0,
            _ => upto(first - 1)? as usize,
        };
        let high = (upto(first)? as usize).min(self.count());
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
        let at = self.layout.ids.at(position);
        &self.map[at..at + self.layout.id_len]
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
