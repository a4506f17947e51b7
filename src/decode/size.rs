//! How large an object is, without inflating it: what its header says.
//!
//! Of a delta the first bytes are inflated, which say how large its result is.

use gix::ObjectId;

use super::stream::delta_sizes;
use crate::odb::{Odb, Place, loose, pack::EntryKind};

/// Reads sizes.
#[derive(Default)]
pub struct Sizer {
    loose: loose::Reader,
}

impl Sizer {
    /// The size in bytes of the object `id` or of its replacement, from the first copy that tells;
    /// nothing if none does.
    pub fn size(&mut self, odb: &mut Odb, id: ObjectId) -> Option<u64> {
        let id = odb.config().replaced(&id);
        let place = odb.find(&id)?;
        self.size_at(odb, &id, place).or_else(|| {
            let mut copies = odb.copies(&id).into_iter();
            copies.find_map(|place| self.size_at(odb, &id, place))
        })
    }

    fn size_at(&mut self, odb: &mut Odb, id: &ObjectId, place: Place) -> Option<u64> {
        match place {
            Place::Loose(dir) => {
                let path = odb.config().loose_path(dir, id);
                self.loose.open(&path).ok().map(|opened| opened.size)
            }
            Place::Packed(pack, offset) => {
                let pack = odb.pack(pack)?;
                let header = pack.header(offset).ok()?;
                match header.kind {
                    EntryKind::Object(_) => Some(header.size),
                    EntryKind::OfsDelta(_) | EntryKind::RefDelta(_) => {
                        let sizes = delta_sizes(pack.stream(header.data));
                        sizes.ok().map(|(_, size)| size)
                    }
                }
            }
        }
    }
}
