//! Things that are used again: fresh pages for each piece would cost more than they hold.
//!
//! There are never more on a shelf than were in use at once. What is taken may hold what its last
//! user left in it.

use std::sync::{Arc, Mutex, PoisonError};

/// A place for things that are free, shared between threads.
pub(super) struct Shelf<T>(Arc<Mutex<Vec<T>>>);

impl<T> Shelf<T> {
    /// One of them, if any is free.
    pub(super) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Have them used again.
    pub(super) fn put(&self, free: impl IntoIterator<Item = T>) {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.extend(free);
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
