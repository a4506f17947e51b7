//! How many threads work on a directory.

use std::{num::NonZeroUsize, thread::available_parallelism};

/// The most threads: more wait for each other in the kernel.
const MAX: usize = 8;

/// The number of threads in addition to the calling one: together they are one for each processor.
pub(super) fn helpers() -> usize {
    let processors = available_parallelism().map_or(1, NonZeroUsize::get);
    processors.min(MAX) - 1
}
