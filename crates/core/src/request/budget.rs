//! How the memory of a run is divided: every buffer and every cache has its share here.
//!
//! The shares add up to more than the whole, since no run needs all of them at once. The threads' scratch
//! buffers and the allocator take what is left.

/// A smaller budget than this is taken for this one, in bytes.
const MIN: u64 = 1 << 20;
/// Bytes that a window of the plan takes with all that is known of its blobs, about.
const WINDOW: usize = 1 << 20;
/// No object of more bytes is held whole: an archive that waits for gigabytes gains nothing.
const MAX_WHOLE_OBJECT: u64 = 1 << 30;

/// The limit of buffers and caches. Every share is in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    bytes: usize,
}

impl Budget {
    /// A budget of so many bytes (`--memory`).
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes: usize::try_from(bytes.max(MIN)).unwrap_or(usize::MAX),
        }
    }

    /// The trees on the way from the root to the entry that is planned.
    pub fn trees(self) -> usize {
        self.bytes / 16
    }

    /// The missing objects that are fetched at once.
    pub fn wanted(self) -> usize {
        self.bytes / 16
    }

    /// The changes of a delta, and the paths that a delta removes.
    pub fn changes(self) -> usize {
        self.bytes / 32
    }

    /// What is read ahead for one window of the plan, into the memory of the system.
    pub fn read_ahead(self) -> u64 {
        self.bytes as u64 / 4
    }

    /// The index of a pack that is read ahead as a whole, into the memory of the system: 64 MiB by default, which is an index
    /// of 2.4 million objects.
    pub fn index_ahead(self) -> u64 {
        self.bytes as u64 / 2
    }

    /// The directories that a thread reads ahead.
    pub fn directories_ahead(self) -> usize {
        self.bytes / 32
    }

    /// The index of the archive that files are copied from, and that of the archive in the making: 16 MiB by default, which is an
    /// index of 340,000 files.
    pub fn donor_index(self) -> usize {
        self.bytes / 8
    }

    /// Windows of the plan that a range keeps until its files are read.
    pub fn kept_windows(self) -> usize {
        self.bytes / 8
    }

    /// How many windows of the plan may be queued before their turn: a quarter of the budget.
    pub fn queued_windows(self) -> usize {
        self.bytes / 4 / WINDOW
    }

    /// Bases of deltas.
    pub fn delta_bases(self) -> usize {
        self.bytes / 4
    }

    /// The size of the largest object that is held whole; a larger one is streamed.
    pub fn whole_object(self) -> u64 {
        (self.bytes as u64 / 8).min(MAX_WHOLE_OBJECT)
    }

    /// Large blobs that occur several times.
    pub fn repeated_blobs(self) -> u64 {
        self.bytes as u64 / 32
    }

    /// What one thread keeps from blob to blob.
    pub fn scratch(self) -> usize {
        self.bytes / 128
    }

    /// Jobs that are under way or wait to be written.
    pub fn in_flight(self) -> usize {
        self.bytes / 4
    }

    /// Bytes in flight before a compressor, which needs a smaller share to stay busy.
    pub fn in_flight_to_compressor(self) -> usize {
        self.bytes / 16
    }

    /// The threads that compress a stream.
    pub fn compressors(self) -> usize {
        self.bytes / 2
    }

    /// The central directory of a zip.
    pub fn zip_directory(self) -> usize {
        self.bytes / 32
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, MAX_WHOLE_OBJECT, MIN};

    #[test]
    fn large_objects_are_streamed_whatever_the_budget() {
        assert_eq!(Budget::new(128 << 20).whole_object(), 16 << 20);
        assert_eq!(Budget::new(100 << 30).whole_object(), MAX_WHOLE_OBJECT);
        assert_eq!(Budget::new(u64::MAX).whole_object(), MAX_WHOLE_OBJECT);
    }

    #[test]
    fn no_budget_is_below_the_least() {
        assert_eq!(Budget::new(0).trees() as u64, MIN / 16);
    }
}
