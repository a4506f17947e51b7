//! Reads the pointers of Git LFS files: the one kind of blob that the plan reads, since a pointer tells the size of the
//! content.

use gix_hash::ObjectId;

use super::Entry;
use crate::filter::Disposition;
use sluice_base::buffer::Buffer;
use sluice_git::{
    lfs::{LfsObject, POINTER_LEN, Pointer},
    objects::{
        reader::Reader,
        size::{Size, Sizer},
    },
};

/// The pointer that the blob `id` (or its replacement) is. `None` for other blobs, and for one that cannot be read.
pub(super) fn pointer(reader: &mut Reader, sizer: &mut Sizer, id: ObjectId) -> Option<Pointer> {
    match sizer.size(&mut reader.odb, id) {
        Size::Exactly(len) if len < POINTER_LEN => {}
        _ => return None,
    }
    let mut text = Buffer::default();
    reader.read(&id, &mut text).ok()??;
    Pointer::parse(&text)
}

/// The object of Git LFS that is archived in place of the blob of `entry`, if one is. The blob is not located yet.
pub fn lfs_object(reader: &mut Reader, entry: &Entry) -> Option<LfsObject> {
    let store = entry.treatment.lfs.as_ref();
    let store = store.filter(|_| entry.disposition == Disposition::Content)?;
    let pointer = pointer(reader, &mut Sizer::default(), entry.id)?;
    Some(LfsObject::new(store, pointer))
}
