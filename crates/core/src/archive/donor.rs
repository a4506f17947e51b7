//! Copies files from the last archive of a repository, which the cache keeps: almost nothing changes from one commit to the next.
//!
//! An archive in the cache has an *index* of the files that it stores as they are, without any conversion: the id of the blob that
//! was read, and where its bytes are. Id and family are all that these bytes follow from, so the index has the family too. The next archive of the same family takes what it needs from there, for the price of a copy. Only the bytes
//! come from the donor: which files there are, and what their headers say, is decided as always. Must never trust a byte whose
//! chunk of the donor has another sum; whatever is wrong with a donor, files are decoded instead.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bstr::ByteSlice;
use gix_hash::{ObjectId, oid};
use rustc_hash::FxHashMap;

use crate::{
    cache::{Key, StoredArchive},
    output::report::Counts,
    plan::KnownBlobs,
};
use sluice_base::{buffer::Buffer, error::Result, threads::Lock};
use sluice_format::StoredBody;

/// Bytes of an entry without the id.
const FACTS: usize = 29;
/// Smaller files cost more to look up than to decode.
const SMALLEST: u64 = 1;

/// What an archive copies from an earlier one, and leaves for the next one.
#[derive(Default)]
pub struct Inheritance {
    /// The archive that files are copied from.
    pub donor: Option<Arc<Donor>>,
    /// The most bytes of the index with which the next archive can copy from this one; 0 for no index.
    pub max_index: usize,
    /// Afterwards, the index. It is empty if it would be larger.
    pub index: Vec<u8>,
}

/// A file in the bytes that are being made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Donation {
    /// The blob that was read, which may replace that of the entry.
    pub(super) id: ObjectId,
    pub(super) body: StoredBody,
}

/// The index of an archive in the making.
pub(super) struct DonorIndex {
    bytes: Vec<u8>,
    max: usize,
    is_full: bool,
}

impl DonorIndex {
    /// An index of at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            max,
            is_full: false,
        }
    }

    /// Adds files, counted from byte `start` of the archive.
    pub(super) fn add(&mut self, donations: &[Donation], start: u64) {
        let len = donations
            .first()
            .map_or(0, |it| it.id.as_slice().len() + FACTS);
        self.is_full |= self.bytes.len() + len * donations.len() > self.max;
        if self.is_full {
            return;
        }
        for Donation { id, body } in donations {
            self.bytes.extend(id.as_slice());
            let at = start.wrapping_add_signed(body.start);
            for number in [at, body.packed, body.size] {
                self.bytes.extend(number.to_le_bytes());
            }
            self.bytes.extend(body.crc.to_le_bytes());
            self.bytes
                .push(u8::from(body.is_deflated) | u8::from(body.is_text) << 1);
        }
    }

    /// The index as bytes; none if it is too large.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        if self.is_full { Vec::new() } else { self.bytes }
    }
}

/// An archive that files are copied from.
pub struct Donor {
    archive: Lock<StoredArchive>,
    index: Vec<u8>,
    id_len: usize,
    /// The entries of the index by the first bytes of the id.
    numbers: FxHashMap<u64, u32>,
    max_size: u64,
    has_failed: AtomicBool,
}

impl Donor {
    /// The donor `archive` with this `index`, of ids of `id_len` bytes, for files of at most `max_size` bytes. `None` if there is
    /// nothing to copy.
    pub(super) fn new(
        archive: StoredArchive,
        index: Vec<u8>,
        id_len: usize,
        max_size: u64,
    ) -> Option<Self> {
        let len = id_len + FACTS;
        if index.is_empty() || !index.len().is_multiple_of(len) {
            return None;
        }
        let entries = index.chunks_exact(len).zip(0..);
        let numbers = entries.map(|(entry, number)| (prefix(entry), number));
        let numbers = numbers.collect();
        Some(Self {
            archive: Lock::new(archive),
            index,
            id_len,
            numbers,
            max_size,
            has_failed: AtomicBool::new(false),
        })
    }

    /// Whether every byte so far was as it was written.
    pub(super) fn is_sound(&self) -> bool {
        !self.has_failed.load(Ordering::Acquire)
    }

    fn entry(&self, number: u32) -> &[u8] {
        let len = self.id_len + FACTS;
        &self.index[number as usize * len..][..len]
    }

    fn body(&self, number: u32) -> StoredBody {
        let facts = &self.entry(number)[self.id_len..];
        let number = |at: usize| {
            let bytes = facts[at..at + 8].try_into().unwrap_or_default();
            u64::from_le_bytes(bytes)
        };
        StoredBody {
            start: number(0).cast_signed(),
            packed: number(8),
            size: number(16),
            crc: u32::from_le_bytes(facts[24..28].try_into().unwrap_or_default()),
            is_deflated: facts[28] & 1 != 0,
            is_text: facts[28] & 2 != 0,
        }
    }

    /// Appends the body `number` to `out`, as the format stores it, through the `reader` of one thread. `None` if the donor is not
    /// what it was; then `out` is as before.
    pub(super) fn copy(
        &self,
        reader: &mut Option<StoredArchive>,
        number: u32,
        out: &mut Buffer,
    ) -> Option<StoredBody> {
        if !self.is_sound() {
            return None;
        }
        let reader = reader.get_or_insert_with(|| self.archive.lock().another());
        let body = self.body(number);
        let mark = out.len();
        let start = body.start.cast_unsigned();
        let copied = start.checked_add(body.packed).is_some_and(|end| {
            let copied = reader.copy(start..end, &mut |bytes| {
                out.extend(bytes);
                Ok::<_, ()>(())
            });
            copied == Ok(body.packed)
        });
        if copied {
            return Some(body);
        }
        out.truncate(mark);
        self.has_failed.store(true, Ordering::Release);
        None
    }
}

impl KnownBlobs for Donor {
    fn find(&self, id: &oid) -> Option<(u32, u64)> {
        let number = *self.numbers.get(&prefix(id.as_bytes()))?;
        let is_it = self.entry(number).starts_with(id.as_bytes()) && self.is_sound();
        let size = self.body(number).size;
        (is_it && (SMALLEST..=self.max_size).contains(&size)).then_some((number, size))
    }
}

fn prefix(id: &[u8]) -> u64 {
    u64::from_le_bytes(id[..8].try_into().unwrap_or_default())
}

/// The notes of an archive in the cache: what its producer counted, and its `index` for archives of `family`.
pub(super) fn join(mut counts: Vec<u8>, family: Option<Key>, index: &[u8]) -> Vec<u8> {
    if let Some(family) = family {
        // JSON has no such byte.
        counts.push(0);
        counts.extend(family.0);
        counts.extend(index);
    }
    counts
}

/// The counts in the notes of an archive.
pub(super) fn counts(notes: &[u8]) -> Result<Counts> {
    Counts::of_notes(split(notes).0)
}

/// The index in the notes of an archive, if the archive is one of `family`.
pub(super) fn index<'n>(notes: &'n [u8], family: &Key) -> Option<&'n [u8]> {
    split(notes).1.strip_prefix(&family.0)
}

fn split(notes: &[u8]) -> (&[u8], &[u8]) {
    notes.split_once_str(b"\0").unwrap_or((notes, b""))
}

#[cfg(test)]
mod tests {
    use gix_hash::{Kind, ObjectId};

    use super::{Donation, DonorIndex, Key, index, join, split};
    use sluice_format::StoredBody;

    fn donation(start: i64) -> Donation {
        Donation {
            id: ObjectId::null(Kind::Sha1),
            body: StoredBody {
                start,
                packed: 3,
                size: 5,
                crc: 7,
                is_deflated: true,
                is_text: false,
            },
        }
    }

    #[test]
    fn notes_have_counts_and_an_index() {
        let mut making = DonorIndex::new(98);
        making.add(&[donation(-2), donation(6)], 10);
        let bytes = making.into_bytes();
        assert_eq!(bytes.len(), 2 * 49);
        assert_eq!((bytes[20], bytes[49 + 20], bytes[48]), (8, 16, 1));
        let family = Key([0; 32]);
        let notes = join(b"{}".to_vec(), Some(family), &bytes);
        assert_eq!(split(&notes).0, b"{}");
        assert_eq!(index(&notes, &family), Some(&bytes[..]));
        assert_eq!(index(&notes, &Key([1; 32])), None, "another family");
        assert_eq!(index(b"{}", &family), None);
    }

    #[test]
    fn an_index_that_is_too_large_is_none() {
        let mut index = DonorIndex::new(97);
        index.add(&[donation(0)], 0);
        index.add(&[donation(0)], 0);
        assert!(index.into_bytes().is_empty());
    }
}
