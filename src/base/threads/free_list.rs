//! A free list: values whose memory is used again, since fresh pages for each piece would cost more than the work.
//!
//! A list never holds more values than were in use at once. A value that is taken still has the content that its
//! last user left.

use std::sync::Arc;

use super::Lock;

/// A free list that is shared between threads.
pub struct FreeList<T>(Arc<Lock<Vec<T>>>);

impl<T> FreeList<T> {
    /// Takes a value, if any is free.
    pub fn take(&self) -> Option<T> {
        self.0.lock().pop()
    }

    /// Adds values that are free again.
    pub fn put(&self, values: impl IntoIterator<Item = T>) {
        let mut list = self.0.lock();
        list.extend(values);
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
