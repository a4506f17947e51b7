//! Asks the system for everything that objects are made of, before the first of them is used.
//!
//! On storage with latency, a reader that waits for one page after another takes a round trip for each. Here, each round asks
//! for all pages that are known by then: of the index, then of the headers of pack entries, then of their content and of the
//! headers of their bases. If the files are in memory, nothing is asked. Every question is a hint: it must not fail, and must
//! not decide whether an object exists.

use std::collections::HashSet;

use gix_hash::{ObjectId, oid};

use super::{
    ObjectLocation, Odb, PackId, loose_ahead,
    pack::{EntryHeader, EntryKind},
    table::ObjectTable,
};

/// A gap of fewer bytes costs less than another question.
const GAP: u64 = 64 << 10;
/// The longest header of a pack entry that is expected, in bytes.
const HEADER: u64 = 64;
/// The most objects of a sample that shows whether objects are in memory.
const SAMPLE: usize = 64;
/// The most loose objects among them. There are few, because each has to be opened.
const LOOSE_SAMPLE: usize = 8;
/// An entry of at most this size is expected not to shrink; larger ones to a half.
const SMALL: u64 = 16 << 10;

/// A part of a pack, from an offset to another one.
type Range = (PackId, u64, u64);

impl Odb {
    /// Whether a sample of the packs and indices that were used so far is in memory. False if none was used.
    pub fn is_in_memory(&self) -> bool {
        let mut packs = self.packs.iter().filter_map(|file| file.map()).peekable();
        packs.peek().is_some()
            && packs.all(|pack| pack.is_in_memory(0..pack.len()))
            && self.tables().all(ObjectTable::is_in_memory)
    }

    /// Whether the beginnings of a sample of the packed objects `ids`, and of a few loose ones, are in memory.
    pub fn has_in_memory(&mut self, ids: &[ObjectId]) -> bool {
        let step = ids.len().div_ceil(SAMPLE).max(1);
        let ids: Vec<ObjectId> = ids.iter().step_by(step).copied().collect();
        self.ask_for_lookups(&ids);
        let mut loose = 0;
        ids.iter().all(|id| match self.find_in_packs(id) {
            Some(ObjectLocation::Packed(pack, offset)) => {
                let pack = self.pack(pack);
                pack.is_none_or(|file| file.map().has_in_memory(offset as usize))
            }
            _ => {
                loose += 1;
                loose > LOOSE_SAMPLE || loose_ahead::is_in_memory(&self.config.dirs, id)
            }
        })
    }

    /// Reads ahead from now on, at most `max_bytes` for one question.
    pub fn read_ahead(&mut self, max_bytes: u64) {
        self.ahead = Some(max_bytes);
    }

    /// Expects that most objects of the newest commits are looked up: an archive of all files needs them. Each index of at most
    /// `max_bytes` that is not in memory is asked for as a whole when it is opened, and those that are open now.
    pub fn expect_most(&mut self, max_bytes: u64) {
        self.expects_most = Some(max_bytes);
        self.tables()
            .for_each(|table| ask_if_cold(table, max_bytes));
    }

    /// Asks for what the first look-up, of `id`, will read in the table of an index that was just opened.
    pub(super) fn ask_for_first(&self, table: &ObjectTable, id: &oid) {
        table.ask(&[id.to_owned()]);
        if let Some(max_bytes) = self.expects_most {
            ask_if_cold(table, max_bytes);
        }
    }

    /// The tables of the indices that are open.
    fn tables(&self) -> impl Iterator<Item = &ObjectTable> {
        self.sources.iter().filter_map(|source| source.table())
    }

    /// Whether objects are read ahead.
    pub fn reads_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Asks for the objects `ids` with all their bases. Waits until loose ones are open, and for the headers of pack entries.
    pub fn ask_for(&mut self, ids: &[ObjectId]) {
        let Some(max_bytes) = self.ahead else { return };
        self.ask_for_lookups(ids);
        let mut seen = HashSet::new();
        let (mut round, mut loose) = (Vec::new(), Vec::new());
        for id in ids {
            match self.find_in_packs(id) {
                Some(ObjectLocation::Packed(pack, offset)) if seen.insert((pack, offset)) => {
                    round.push((pack, offset));
                }
                Some(_) => {}
                None => loose.push(*id),
            }
        }
        self.ask_for_ranges(round.iter().map(|&entry| header_of(entry)).collect());
        let mut asked = 0;
        while !round.is_empty() && asked < max_bytes {
            let mut ranges = Vec::with_capacity(2 * round.len());
            let mut bases = Vec::new();
            for (pack, offset) in round {
                if asked >= max_bytes {
                    break;
                }
                let header = self.pack(pack).and_then(|file| file.header(offset).ok());
                let Some(header) = header else { continue };
                let range = (pack, offset, header.data + expected(&header));
                asked += range.2 - range.1;
                ranges.push(range);
                if let Some(base) = self.base(pack, &header)
                    && seen.insert(base)
                {
                    ranges.push(header_of(base));
                    bases.push(base);
                }
            }
            self.ask_for_ranges(ranges);
            round = bases;
        }
        loose_ahead::ask(&self.config.dirs, &loose, max_bytes.saturating_sub(asked));
    }

    fn base(&mut self, pack: PackId, header: &EntryHeader) -> Option<(PackId, u64)> {
        match header.kind {
            EntryKind::Object(_) => None,
            EntryKind::OfsDelta(base) => Some((pack, base)),
            EntryKind::RefDelta(base) => match self.find_in_packs(&base)? {
                ObjectLocation::Packed(pack, offset) => Some((pack, offset)),
                ObjectLocation::Loose(_) => None,
            },
        }
    }

    /// Asks for the pages that look-ups of `ids` will read, in the indices that were used so far.
    fn ask_for_lookups(&self, ids: &[ObjectId]) {
        let cold = self.tables().filter(|table| !table.is_in_memory());
        cold.for_each(|table| table.ask(ids));
    }

    /// Asks for `ranges`, merged where the gaps are small.
    fn ask_for_ranges(&self, ranges: Vec<Range>) {
        for (pack, start, end) in merged(ranges) {
            if let Some(file) = self.pack(pack) {
                file.ask(start, end);
            }
        }
    }
}

/// Asks for all of `table`, if it is not in memory and its file has at most `max_bytes`.
fn ask_if_cold(table: &ObjectTable, max_bytes: u64) {
    if !table.is_in_memory() {
        table.ask_for_all(max_bytes);
    }
}

/// The bytes with the header of the entry at an offset of a pack. An index may claim any offset.
fn header_of((pack, offset): (PackId, u64)) -> Range {
    (pack, offset, offset.saturating_add(HEADER))
}

/// The `ranges` in order, with those joined that have at most [`GAP`] bytes between them.
fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|&(pack, start, end)| (pack.0, start, end));
    ranges.dedup_by(|&mut (pack, start, end), (last, _, until)| {
        let is_near = pack == *last && start <= until.saturating_add(GAP);
        if is_near {
            *until = end.max(*until);
        }
        is_near
    });
    ranges
}

/// The expected bytes of the zlib stream of an entry.
fn expected(header: &EntryHeader) -> u64 {
    match header.size {
        size if size <= SMALL => size,
        size => size / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{GAP, HEADER, PackId, header_of, merged};

    #[test]
    fn near_ranges_are_one() {
        let (one, other) = (PackId(0), PackId(1));
        let ranges = vec![
            (other, 0, 10),
            (one, 50 + GAP, 60 + GAP),
            (one, 0, 50),
            (one, 20, 30),
            (one, 61 + 2 * GAP, 70 + 2 * GAP),
        ];
        let expected = [
            (one, 0, 60 + GAP),
            (one, 61 + 2 * GAP, 70 + 2 * GAP),
            (other, 0, 10),
        ];
        assert_eq!(merged(ranges), expected);
    }

    #[test]
    fn offsets_may_be_claimed_at_will() {
        let last = header_of((PackId(0), u64::MAX - 1));
        assert_eq!(last, (PackId(0), u64::MAX - 1, u64::MAX));
        let first = header_of((PackId(0), 0));
        assert_eq!(
            merged(vec![last, first, last]),
            [(PackId(0), 0, HEADER), last]
        );
    }
}
