//! Windows of entries, and the jobs of a window.

use std::{mem, ops::Range, sync::Arc};

use super::entry::Entry;
use sluice_git::{lfs::LfsObject, objects::chain::Chains};

/// Estimated bytes of archive in one job.
const JOB_BYTES: u64 = 256 << 10;
/// Entries in one job, at most.
const JOB_ENTRIES: usize = 512;
/// Estimated bytes of an archive entry without its content.
const ENTRY_OVERHEAD: u64 = 768;

/// The number of a repository whose objects are archived: 0 for the one that was asked, others for submodules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoreId(pub usize);

/// A piece of the plan: entries and, once their blobs are located, the chains that decode the blobs.
#[derive(Default)]
pub struct Window {
    /// The repository of the entries.
    pub store: StoreId,
    /// In the order of the archive.
    pub entries: Vec<Entry>,
    pub(super) paths: Vec<u8>,
    /// The delta chains of the blobs in packs.
    pub chains: Chains,
    /// The LFS objects that are archived in place of their pointers.
    pub lfs_objects: Vec<LfsObject>,
    /// Text for stderr after the last entry; rarely present.
    pub(super) trailing_messages: Option<Vec<u8>>,
}

impl Window {
    /// The full name of `entry` in the archive.
    pub fn path(&self, entry: &Entry) -> &[u8] {
        entry.name(&self.paths)
    }

    /// The memory held before the blobs are located, in bytes.
    pub fn held(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.paths.capacity()
    }

    /// Whether there is text for stderr after the last entry.
    pub fn has_last_words(&self) -> bool {
        self.trailing_messages.is_some()
    }
}

/// Consecutive entries of one window.
pub struct Job {
    /// The window that holds the entries.
    pub window: Arc<Window>,
    /// The range of the job's entries.
    pub range: Range<usize>,
    /// Estimated bytes of output.
    pub output: u64,
    /// Bytes of the names of the entries.
    pub names: u64,
    /// Estimated bytes of memory for decoding, without the output.
    pub scratch: u64,
}

impl Job {
    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.window.entries[self.range.clone()]
    }

    /// Text for stderr after the job's last entry.
    pub fn trailing_messages(&self) -> &[u8] {
        match &self.window.trailing_messages {
            Some(words) if self.range.end == self.window.entries.len() => words,
            _ => &[],
        }
    }
}

/// The measures of a job before its window is cut.
struct Cut {
    /// The index after the job's last entry.
    end: usize,
    output: u64,
    names: u64,
    scratch: u64,
}

/// Divides a window into jobs. An entry with an ordered treatment is a job of its own, so that other entries
/// need not wait.
#[derive(Default)]
pub(super) struct Cuts {
    jobs: Vec<Cut>,
    entries: usize,
    output: u64,
    names: u64,
    scratch: u64,
}

impl Cuts {
    /// Add the next entry: about `size` bytes of content, and `scratch` bytes of memory for decoding.
    pub(super) fn count(&mut self, entry: &Entry, size: u64, scratch: u64) {
        let alone = entry.treatment.is_ordered();
        if alone {
            self.close();
        }
        self.entries += 1;
        let name = entry.path.len() as u64;
        self.names += name;
        self.output += ENTRY_OVERHEAD + name + size;
        self.scratch = self.scratch.max(scratch);
        let many = self.entries - self.start() >= JOB_ENTRIES;
        if alone || many || self.output >= JOB_BYTES {
            self.close();
        }
    }

    /// The index of the open job's first entry.
    fn start(&self) -> usize {
        self.jobs.last().map_or(0, |job| job.end)
    }

    fn close(&mut self) {
        if self.start() < self.entries {
            self.jobs.push(Cut {
                end: self.entries,
                output: mem::take(&mut self.output),
                names: mem::take(&mut self.names),
                scratch: mem::take(&mut self.scratch),
            });
        }
    }

    /// Cut `window`, all of whose entries were added, into jobs.
    pub(super) fn cut(mut self, window: Window) -> Vec<Job> {
        self.close();
        if self.jobs.is_empty() && window.trailing_messages.is_some() {
            self.jobs.push(Cut {
                end: 0,
                output: 0,
                names: 0,
                scratch: 0,
            });
        }
        let window = Arc::new(window);
        let mut start = 0;
        let cut = self.jobs.into_iter().map(|cut| Job {
            window: Arc::clone(&window),
            range: mem::replace(&mut start, cut.end)..cut.end,
            output: cut.output,
            names: cut.names,
            scratch: cut.scratch,
        });
        cut.collect()
    }
}
