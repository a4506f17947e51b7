//! How many threads work on a directory, and how they end.

use std::{
    num::NonZeroUsize,
    panic::resume_unwind,
    thread::{ScopedJoinHandle, available_parallelism},
};

use crate::base::error::Result;

/// The most threads: more wait for each other in the kernel.
pub(super) const MAX: usize = 8;

/// The number of threads: one for each processor.
pub(super) fn number() -> usize {
    available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(MAX)
}

/// Waits for a thread. A panic of the thread goes on in this one.
pub(super) fn join<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
