//! A free list: values whose memory is used again, since fresh pages for each piece would cost more than the work.
//!
//! A list never holds more values than were in use at once. A value that is taken still has the content that its
//! last user left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A free list that is shared between threads.
pub struct FreeList<T>(Arc<Mutex<Vec<T>>>);

impl<T> FreeList<T> {
    /// Takes a value, if any is free.
    pub fn take(&self) -> Option<T> {
        self.list().pop()
    }

    /// Adds values that are free again.
    pub fn put(&self, values: impl IntoIterator<Item = T>) {
        self.list().extend(values);
    }

    /// The list is sound after each step, so a panic of another thread does no harm.
    fn list(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for FreeList<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
