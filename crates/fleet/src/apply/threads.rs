//! How many threads work on a directory.

use std::{num::NonZeroUsize, thread::available_parallelism};

/// The most threads by default: more wait for each other in the kernel.
const MAX: usize = 8;

/// The number of threads in addition to the calling one. Together they are as many as `wanted`, or else one for each processor.
pub(super) fn helpers(wanted: Option<u16>) -> usize {
    let processors = || {
        available_parallelism()
            .map_or(1, NonZeroUsize::get)
            .min(MAX)
    };
    wanted
        .map_or_else(processors, usize::from)
        .saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::{MAX, helpers};

    #[test]
    fn the_calling_thread_is_one_of_them() {
        assert_eq!(
            [1, 2, 1024].map(|wanted| helpers(Some(wanted))),
            [0, 1, 1023]
        );
        assert!(helpers(None) < MAX);
    }
}
