//! Large objects that are wanted again and again.
//!
//! Whatever a window wants more than once is decoded once. What is large and repeated there, such as a
//! picture that several parts of a project have a copy of, is likely to come again in another window: it is kept,
//! within a limit, for all windows that follow.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::chain::Slot;
use crate::odb::PackId;

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
    slots: HashMap<(PackId, u64), Arc<Slot>>,
}

impl Repeated {
    /// Keep up to `limit` bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            found: Mutex::default(),
        })
    }

    /// A slot for the object at `place`, which has about `size` bytes, if it is repeated, now or in a window
    /// before.
    pub(super) fn slot(
        &self,
        place: (PackId, u64),
        size: u64,
        is_repeated: bool,
    ) -> Option<Arc<Slot>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = found.slots.get(&place) {
            return Some(Arc::clone(slot));
        }
        if !is_repeated || found.bytes + size > self.limit {
            return None;
        }
        found.bytes += size;
        let slot = Arc::new(Slot::lasting());
        found.slots.insert(place, Arc::clone(&slot));
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Repeated;
    use crate::odb::PackId;

    #[test]
    fn what_is_repeated_once_is_kept_for_good_within_the_limit() {
        let repeated = Repeated::new(300);
        let slot = |offset, is_repeated| repeated.slot((PackId(0), offset), 200, is_repeated);
        assert!(slot(1, false).is_none());
        let first = slot(1, true).unwrap();
        assert!(Arc::ptr_eq(&first, &slot(1, false).unwrap()));
        assert!(slot(2, true).is_none(), "they would be too large together");
        assert!(repeated.slot((PackId(1), 1), 100, false).is_none());
        assert!(repeated.slot((PackId(1), 1), 100, true).is_some());
    }
}
