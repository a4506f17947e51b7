//! The objects that a reader was asked for and did not find, so that all of them can be fetched at once.
//!
//! The memory is bounded: what does not fit is wanted again by the next walk.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gix::ObjectId;

/// Bytes that one object takes here, about.
const BYTES: usize = 128;

/// Missing objects, in the order in which they were missed. Clones share them.
#[derive(Clone)]
pub struct Wanted(Arc<Mutex<List>>);

struct List {
    ids: Vec<ObjectId>,
    known: HashSet<ObjectId>,
    most: usize,
}

impl Wanted {
    /// Room for missing objects, in so many bytes.
    pub fn within(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(List {
            ids: Vec::new(),
            known: HashSet::new(),
            most: (bytes / BYTES).max(1),
        })))
    }

    /// Note that `id` is missing.
    pub fn add(&self, id: ObjectId) {
        let mut list = self.list();
        if list.ids.len() < list.most && list.known.insert(id) {
            list.ids.push(id);
        }
    }

    /// Whether no other object is noted.
    pub fn is_full(&self) -> bool {
        let list = self.list();
        list.ids.len() >= list.most
    }

    /// Take what was noted.
    pub fn take(&self) -> Vec<ObjectId> {
        let mut list = self.list();
        list.known.clear();
        std::mem::take(&mut list.ids)
    }

    /// Every update leaves a list that is consistent enough, so a poisoned lock does no harm.
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use gix::{ObjectId, hash::Kind};

    use super::{BYTES, Wanted};

    fn id(byte: u8) -> ObjectId {
        let mut id = ObjectId::null(Kind::Sha1);
        id.as_mut_slice()[0] = byte;
        id
    }

    #[test]
    fn each_object_is_wanted_once_and_in_order() {
        let wanted = Wanted::within(2 * BYTES);
        for byte in [3, 3, 1, 2] {
            wanted.clone().add(id(byte));
        }
        assert!(wanted.is_full());
        assert_eq!(wanted.take(), [id(3), id(1)]);
        wanted.add(id(3));
        assert_eq!(wanted.take(), [id(3)]);
    }
}
