//! How large an object is, without inflating it: what headers say.
//!
//! Of a delta the first bytes must be inflated to know how large its result is, which takes a good
//! part of the time that all of a small one takes. So where only a limit matters, a delta that
//! is far below it by all its headers is left to whoever decodes it.

use gix::ObjectId;
use sirocco::{Format, inflate::Decoder};

use super::delta::Delta;
use crate::odb::{Odb, PackId, Place, loose, pack::EntryKind};

/// A delta and what it is made from, all much smaller than a limit by this factor, do not make
/// anything larger, unless somebody has made them to.
const FAR: u64 = 2;
/// Links of a chain whose headers are looked at.
const MAX_LINKS: usize = 64;
/// The two sizes at the start of a delta take ten bytes each at most.
const SIZES_MAX: usize = 20;

/// Reads sizes.
#[derive(Default)]
pub struct Sizer {
    loose: loose::Reader,
    /// Made when it is needed: it is large, and mostly nobody asks.
    decoder: Option<Box<Decoder>>,
}

/// How large an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// So many bytes.
    Exactly(u64),
    /// It is far below a limit by all that headers say: to be looked at again when it is decoded.
    Small,
    /// It is there, and no copy of it tells.
    Unknown,
    /// It is not there.
    Missing,
}

impl Sizer {
    /// The size of the object `id` or of its replacement, from the first copy that tells.
    pub fn size(&mut self, odb: &mut Odb, id: ObjectId) -> Size {
        let Ok(id) = odb.config().replaced(&id) else {
            return Size::Unknown;
        };
        match odb.find(&id) {
            Some(place) => self.size_of_any(odb, &id, place, None),
            None => Size::Missing,
        }
    }

    /// The size of the object `id` itself, which was found at `place`, as far as `limit` makes it matter.
    pub fn size_near(&mut self, odb: &mut Odb, id: &ObjectId, place: Place, limit: u64) -> Size {
        self.size_of_any(odb, id, place, Some(limit))
    }

    fn size_of_any(
        &mut self,
        odb: &mut Odb,
        id: &ObjectId,
        place: Place,
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
        place: Place,
        limit: Option<u64>,
    ) -> Option<Size> {
        let (pack, offset) = match place {
            Place::Packed(pack, offset) => (pack, offset),
            Place::Loose(dir) => {
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
        let mut head = [0; SIZES_MAX];
        let new = || Box::new(Decoder::new(Format::Zlib));
        let decoder = self.decoder.get_or_insert_with(new);
        decoder.reset();
        let progress = decoder.decompress(stream, &mut head, false).ok()?;
        let delta = Delta::parse(progress.output).ok()?;
        Some(Size::Exactly(delta.size))
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
                Some(Place::Packed(pack, offset)) => (pack, offset),
                _ => return false,
            },
        };
    }
    false
}
