//! Large objects that occur in several windows.
//!
//! Within a window, an object with several uses is decoded once. A large object that is repeated in one
//! window, such as a picture that several parts of a project copy, is likely to occur in later windows.
//! Such objects are kept for the rest of the run, within a limit.

use std::sync::Arc;

use super::slot::ObjectSlot;
use crate::odb::pack::Pack;
use sluice_base::threads::Lock;

/// The least size of such an object in bytes. Looking smaller ones up takes longer than decoding them.
pub(super) const LARGE: u64 = 128 << 10;

/// The repeated objects of all windows.
pub struct Repeated {
    /// The most bytes of all objects together.
    limit: u64,
    objects: Lock<RepeatedObjects>,
}

#[derive(Default)]
struct RepeatedObjects {
    bytes: u64,
    objects: Vec<Object>,
}

struct Object {
    /// A pack number would not do: each database numbers the packs that it finds during the run by itself.
    pack: Arc<Pack>,
    /// The offset of the entry's zlib stream.
    data: u64,
    slot: Arc<ObjectSlot>,
}

impl Repeated {
    /// Keep up to `limit` bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            objects: Lock::default(),
        })
    }

    /// The slot for the object in `pack` whose stream begins at `data` and which has about `size` bytes, if
    /// the object is repeated in this window or was repeated in an earlier one.
    pub(super) fn slot(
        &self,
        pack: &Arc<Pack>,
        data: u64,
        size: u64,
        is_repeated: bool,
    ) -> Option<Arc<ObjectSlot>> {
        let mut repeated = self.objects.lock();
        let is_it = |object: &&Object| object.data == data && Arc::ptr_eq(&object.pack, pack);
        if let Some(object) = repeated.objects.iter().find(is_it) {
            return Some(Arc::clone(&object.slot));
        }
        if !is_repeated || repeated.bytes + size > self.limit {
            return None;
        }
        repeated.bytes += size;
        let slot = Arc::new(ObjectSlot::lasting());
        repeated.objects.push(Object {
            pack: Arc::clone(pack),
            data,
            slot: Arc::clone(&slot),
        });
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, sync::Arc};

    use gix_hash::Kind;

    use super::Repeated;
    use crate::odb::pack::Pack;

    fn pack() -> Arc<Pack> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"PACK\0\0\0\x02\0\0\0\0").unwrap();
        file.write_all(&[0; 20]).unwrap();
        Arc::new(Pack::open(file.path(), Kind::Sha1, None).unwrap())
    }

    #[test]
    fn what_is_repeated_once_is_kept_for_good_within_the_limit() {
        let repeated = Repeated::new(300);
        let (one, other) = (pack(), pack());
        let slot = |data, is_repeated| repeated.slot(&one, data, 200, is_repeated);
        assert!(slot(1, false).is_none());
        let first = slot(1, true).unwrap();
        assert!(Arc::ptr_eq(&first, &slot(1, false).unwrap()));
        assert!(slot(2, true).is_none(), "they would be too large together");
        assert!(repeated.slot(&other, 1, 100, false).is_none());
        assert!(repeated.slot(&other, 1, 100, true).is_some());
    }
}
