//! Large objects that are wanted again and again.
//!
//! Whatever a window wants more than once is decoded once. What is large and repeated there, such as a
//! picture that several parts of a project have a copy of, is likely to come again in another window: it is kept,
//! within a limit, for all windows that follow.

use std::sync::{Arc, Mutex, PoisonError};

use super::slot::Slot;
use crate::odb::pack::Pack;

/// Bytes that an object has at least: looking for smaller ones takes longer than decoding them.
pub(super) const LARGE: u64 = 128 << 10;

/// What was repeated in one window, for the others.
pub struct Repeated {
    /// Bytes that they may have together.
    limit: u64,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    bytes: u64,
    objects: Vec<Object>,
}

struct Object {
    /// Its number would not do: what databases find in mid-run they number each by themselves.
    pack: Arc<Pack>,
    /// Where its zlib stream begins.
    data: u64,
    slot: Arc<Slot>,
}

impl Repeated {
    /// Keep up to `limit` bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            found: Mutex::default(),
        })
    }

    /// A slot for the object in `pack` whose stream begins at `data`, and which has about `size` bytes, if it is
    /// repeated, now or in a window before.
    pub(super) fn slot(
        &self,
        pack: &Arc<Pack>,
        data: u64,
        size: u64,
        is_repeated: bool,
    ) -> Option<Arc<Slot>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |object: &&Object| object.data == data && Arc::ptr_eq(&object.pack, pack);
        if let Some(object) = found.objects.iter().find(is_it) {
            return Some(Arc::clone(&object.slot));
        }
        if !is_repeated || found.bytes + size > self.limit {
            return None;
        }
        found.bytes += size;
        let slot = Arc::new(Slot::lasting());
        found.objects.push(Object {
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

    use gix::hash::Kind;

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
