//! The paths that a delta changes, as a set: the list of the directory goes on without them. Must not look at the
//! directory.

use std::io::BufRead;

use rustc_hash::FxHashSet;

use crate::error::Result;

use super::{
    delta::Claim,
    hash::ContentHash,
    path::ArchivePath,
    reader::{Item, Reader},
    steps::{Step, Steps},
};

/// Hashes of paths, which take less room than the paths.
#[derive(Default)]
pub(super) struct Changes {
    paths: FxHashSet<ContentHash>,
    /// The paths that are deleted with everything below them.
    trees: FxHashSet<ContentHash>,
}

impl Changes {
    /// Read a delta to its end, which checks it: the steps of `first`, then those of `reader`.
    pub(super) fn read<R: BufRead>(
        claim: &Claim,
        first: Option<Item>,
        reader: &mut Reader<R>,
    ) -> Result<Self> {
        let mut changes = Self::default();
        Steps::new(claim).each(first, reader, |step, _| {
            changes.add(&step);
            Ok(())
        })?;
        Ok(changes)
    }

    fn add(&mut self, step: &Step<'_>) {
        let insert = |set: &mut FxHashSet<ContentHash>, path: &ArchivePath<'_>| {
            set.insert(ContentHash::of(path.bytes()));
        };
        match step {
            Step::Delete(path) | Step::Write(path, _) => insert(&mut self.paths, path),
            Step::DeleteAll(path) => insert(&mut self.trees, path),
        }
    }

    /// Whether what was at `path` before is there no more.
    pub(super) fn have(&self, path: &[u8]) -> bool {
        let is_in = |set: &FxHashSet<ContentHash>, path| set.contains(&ContentHash::of(path));
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut above = slashes.map(|(at, _)| &path[..at]).chain([path]);
        is_in(&self.paths, path)
            || (!self.trees.is_empty() && above.any(|path| is_in(&self.trees, path)))
    }
}
