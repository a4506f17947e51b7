//! Windows of entries, and the jobs that they are cut into.

use std::{mem, ops::Range, sync::Arc};

use super::entry::Entry;
use crate::decode::chain::Chains;

/// Estimated bytes of archive in one job.
const JOB_BYTES: u64 = 256 << 10;
/// Entries in one job, at most.
const JOB_ENTRIES: usize = 512;
/// An archive entry without its content, roughly.
const ENTRY_OVERHEAD: u64 = 768;

/// A piece of the plan: entries and, once they are located, all that is needed to decode them.
#[derive(Default)]
pub struct Window {
    /// In the order of the archive.
    pub entries: Vec<Entry>,
    pub(super) paths: Vec<u8>,
    /// How the blobs in packs are made.
    pub chains: Chains,
    /// What is to be said on stderr after the last entry; rarely anything.
    pub(super) last_words: Option<Vec<u8>>,
}

impl Window {
    /// The full name in the archive.
    pub fn path(&self, entry: &Entry) -> &[u8] {
        entry.name(&self.paths)
    }
}

/// Consecutive entries of one window.
pub struct Job {
    /// Where the entries are.
    pub window: Arc<Window>,
    /// Which of them, in order.
    pub range: Range<usize>,
    /// Estimated bytes of output.
    pub output: u64,
    /// Bytes of the names of the entries.
    pub names: u64,
    /// Estimated bytes of memory that decoding takes on top.
    pub scratch: u64,
}

impl Job {
    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.window.entries[self.range.clone()]
    }

    /// What is to be said on stderr after the last of them.
    pub fn last_words(&self) -> &[u8] {
        match &self.window.last_words {
            Some(words) if self.range.end == self.window.entries.len() => words,
            _ => &[],
        }
    }
}

/// A job that is still to be cut out of its window.
struct Cut {
    /// Where it ends.
    end: usize,
    output: u64,
    names: u64,
    scratch: u64,
}

/// Where a window is to be cut. An entry that is treated in order is a job by itself, so that the others
/// need not wait for it.
#[derive(Default)]
pub(super) struct Cuts {
    jobs: Vec<Cut>,
    entries: usize,
    output: u64,
    names: u64,
    scratch: u64,
}

impl Cuts {
    /// Count in the next entry, whose content has about `size` bytes and takes as many of `scratch` to decode.
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

    /// Where the job that is open begins.
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

    /// Cut `window`, all of whose entries were counted.
    pub(super) fn cut(mut self, window: Window) -> Vec<Job> {
        self.close();
        if self.jobs.is_empty() && window.last_words.is_some() {
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
