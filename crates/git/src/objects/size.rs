//! The sizes of objects, read from headers.
//!
//! The size of a delta's result stands in its first bytes, which must be inflated. For a small delta this
//! takes a good part of the time of decoding. So where only a limit matters, a delta that is far below the
//! limit by all its headers is left to the decoder.

use gix_hash::ObjectId;
use sirocco::{Format, inflate::Decoder};

use super::delta::PackDelta;
use crate::odb::{ObjectLocation, Odb, PackId, loose, pack::EntryKind};

/// A delta whose chain is smaller than a limit by this factor yields no larger object, unless the delta was
/// made for that purpose.
const FAR: u64 = 2;
/// The most links of a chain whose headers are read.
const MAX_LINKS: usize = 64;
/// The two sizes at the start of a delta take at most ten bytes each.
const SIZES_MAX: usize = 20;
/// Both sizes take at most six bytes where base and result have less than 2 MiB.
const SIZES_USUAL: usize = 6;

/// Reads sizes.
#[derive(Default)]
pub struct Sizer {
    loose: loose::Reader,
    /// For deltas that begin in an unusual way. Created on first use: the decoder is large and rarely needed.
    decoder: Option<Box<Decoder>>,
}

/// The size of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The size in bytes.
    Exactly(u64),
    /// Far below the limit by all headers. The decoder checks the size again.
    Small,
    /// The object exists, but no copy yields a size.
    Unknown,
    /// The object does not exist.
    Missing,
}

impl Size {
    /// The size in bytes, if it is known.
    pub fn exactly(self) -> Option<u64> {
        match self {
            Self::Exactly(size) => Some(size),
            Self::Small | Self::Unknown | Self::Missing => None,
        }
    }
}

impl Sizer {
    /// The size of the object `id` or of its replacement, from the first readable copy.
    pub fn size(&mut self, odb: &mut Odb, id: ObjectId) -> Size {
        let Ok(id) = odb.config().replaced(&id) else {
            return Size::Unknown;
        };
        match odb.find(&id) {
            Some(place) => self.size_of_any(odb, &id, place, None),
            None => Size::Missing,
        }
    }

    /// The size of the object `id` itself, which was found at `place`.
    pub fn size_of(&mut self, odb: &mut Odb, id: &ObjectId, place: ObjectLocation) -> Size {
        self.size_of_any(odb, id, place, None)
    }

    /// The size of the object `id` itself, which was found at `place`, as exactly as `limit` requires.
    pub fn size_near(
        &mut self,
        odb: &mut Odb,
        id: &ObjectId,
        place: ObjectLocation,
        limit: u64,
    ) -> Size {
        self.size_of_any(odb, id, place, Some(limit))
    }

    fn size_of_any(
        &mut self,
        odb: &mut Odb,
        id: &ObjectId,
        place: ObjectLocation,
        limit: Option<u64>,
    ) -> Size {
        let size = self.size_at(odb, id, place, limit).or_else(|| {
            let mut copies = odb.copies(id).into_iter();
            copies.find_map(|place| self.size_at(odb, id, place, limit))
        });
        size.unwrap_or(Size::Unknown)
    }

    fn size_at(
        &mut self,
        odb: &mut Odb,
        id: &ObjectId,
        place: ObjectLocation,
        limit: Option<u64>,
    ) -> Option<Size> {
        let (pack, offset) = match place {
            ObjectLocation::Packed(pack, offset) => (pack, offset),
            ObjectLocation::Loose(dir) => {
                let path = odb.config().loose_path(dir, id);
                let opened = self.loose.open(&path).ok()?;
                return Some(Size::Exactly(opened.size));
            }
        };
        let mapped = odb.pack(pack)?;
        let header = mapped.header(offset).ok()?;
        if let EntryKind::Object(_) = header.kind {
            return Some(Size::Exactly(header.size));
        }
        if limit.is_some_and(|limit| is_far_below(odb, pack, offset, limit)) {
            return Some(Size::Small);
        }
        let stream = odb.pack(pack)?.stream(header.data);
        self.size_of_delta(stream).map(Size::Exactly)
    }

    /// The size of the result of the delta in `stream`.
    fn size_of_delta(&mut self, stream: &[u8]) -> Option<u64> {
        let mut head = [0; SIZES_MAX];
        if let Ok(len) = sluice_inflate::literals(stream, &mut head[..SIZES_USUAL])
            && let Ok(delta) = PackDelta::parse(&head[..len])
        {
            return Some(delta.size);
        }
        let new = || Box::new(Decoder::new(Format::Zlib));
        let decoder = self.decoder.get_or_insert_with(new);
        decoder.reset();
        let progress = decoder.decompress(stream, &mut head, false).ok()?;
        let delta = PackDelta::parse(progress.output).ok()?;
        Some(delta.size)
    }
}

/// Whether all entries of a chain together are far below `limit`.
fn is_far_below(odb: &mut Odb, pack: PackId, offset: u64, limit: u64) -> bool {
    let (mut pack, mut offset) = (pack, offset);
    let mut total: u64 = 0;
    for _ in 0..MAX_LINKS {
        let header = odb.pack(pack).and_then(|pack| pack.header(offset).ok());
        let Some(header) = header else { return false };
        total = total.saturating_add(header.size);
        if total > limit / FAR {
            return false;
        }
        (pack, offset) = match header.kind {
            EntryKind::Object(_) => return true,
            EntryKind::OfsDelta(base) => (pack, base),
            EntryKind::RefDelta(base) => match odb.find(&base) {
                Some(ObjectLocation::Packed(pack, offset)) => (pack, offset),
                _ => return false,
            },
        };
    }
    false
}
