//! A client of the cache that counts bytes.

use std::{
    fs::File,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

/// The client has left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stop;

/// A client that may leave.
pub(crate) struct Client<'a> {
    /// Bytes that are in the file.
    pub(crate) written: &'a AtomicU64,
    /// Bytes that the client has.
    pub(crate) sent: &'a AtomicU64,
    /// The byte at which the client leaves.
    pub(crate) leaves_at: u64,
}

impl Client<'_> {
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(SeqCst)
    }

    pub(crate) fn catch_up(&mut self, _: &Arc<File>, until: u64) -> Result<(), Stop> {
        shuttle::thread::yield_now();
        assert!(until <= self.written.load(SeqCst), "read beyond the end");
        self.sent.store(until.min(self.leaves_at), SeqCst);
        match until < self.leaves_at {
            true => Ok(()),
            false => Err(Stop),
        }
    }
}
