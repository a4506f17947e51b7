//! The summary of a comparison: deletions, and the number of changes.
//!
//! The summary pass ends before the first byte is written, so that a run with too many changes fails in
//! time, and so that deletions can precede the entries.

use gix_hash::ObjectId;

use super::{
    change::{Change, DiffStep, Shown},
    changes::CachedChanges,
    deletions::{Deletion, DeletionLog, Deletions},
    diff::Diff,
};
use crate::output::report::{ChangeCounts, Status};
use sluice_base::{
    error::{Error, Result},
    pipeline::{self, Limits, Made, Sink, Source, Worker},
};
use sluice_format::MemberKind;
use sluice_git::{objects::reader::Reader, tree::Mode};

/// The facts about a comparison before the archive is written.
pub struct DiffSummary {
    /// Paths of the old tree that the new tree lacks, and names of files that it may add.
    pub deletions: Deletions,
    /// The number of changes and all other facts.
    pub found: DeltaPart,
}

/// A part of the changes.
pub struct DeltaPart {
    /// Deletions in the order of trees. A directory follows its entries.
    deletions: Vec<Deletion>,
    /// Bytes of the names of the deletions.
    deleted_names: usize,
    /// The names of files and links that the archive of the base may lack, each with a NUL at its end.
    added: Vec<u8>,
    /// The number of paths that differ, by [`Status`].
    pub changes: ChangeCounts,
    /// The changes that the archive pass need not find again.
    pub cached: CachedChanges,
    /// Directories that were read.
    pub directories: u64,
    /// Complaints about attribute files of the new tree.
    pub complaints: Vec<u8>,
    bounds: Bounds,
}

/// The sum of the parts so far.
struct Total {
    /// The sum without the deletions.
    found: DeltaPart,
    deletions: DeletionLog,
}

/// The limits of the summary pass.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// The most paths that may differ.
    pub changes: Option<u64>,
    /// The most bytes of changes cached for the archive pass.
    pub cached_bytes: usize,
    /// The number of threads. The default is the number of available cores.
    pub threads: Option<usize>,
}

/// The number of directories read or of differing paths after which a part ends, so that another thread may
/// continue.
const PART_LEN: u64 = 64;
/// The approximate bytes after which a part ends.
const PART_BYTES: usize = 16 << 10;
/// The most threads. Starting more takes longer than they save.
const MAX_THREADS: usize = 8;

impl DiffSummary {
    /// Compare both trees of `diff`, within `bounds`.
    pub fn take(diff: Diff, reader: Reader, bounds: Bounds) -> Result<Self> {
        let source = Summariser {
            diff,
            reader,
            bounds,
        };
        let limits = Limits {
            threads: bounds.threads,
            max_threads: MAX_THREADS,
            budget: bounds.cached_bytes,
            queued: bounds.cached_bytes / PART_BYTES,
        };
        let mut total = Total {
            found: DeltaPart::new(bounds),
            deletions: DeletionLog::new(bounds.cached_bytes),
        };
        let (_, outcome) = pipeline::run(source, &Parts, &mut total, limits);
        outcome?;
        Ok(Self {
            deletions: total.deletions.finish()?,
            found: total.found,
        })
    }
}

impl Total {
    /// Append the facts of `part`.
    fn append(&mut self, part: DeltaPart) -> Result<()> {
        for deletion in &part.deletions {
            self.deletions.add(deletion)?;
        }
        self.deletions.add_names(&part.added)?;
        let found = &mut self.found;
        found.changes += part.changes;
        found.cached.append(part.cached);
        found.directories += part.directories;
        found.complaints.extend(part.complaints);
        found.within_bounds()
    }
}

impl DeltaPart {
    fn new(bounds: Bounds) -> Self {
        Self {
            deletions: Vec::new(),
            deleted_names: 0,
            added: Vec::new(),
            changes: ChangeCounts::default(),
            cached: CachedChanges::new(bounds.cached_bytes),
            directories: 0,
            complaints: Vec::new(),
            bounds,
        }
    }

    /// The approximate size in memory, in bytes.
    fn bytes(&self) -> usize {
        let deletions = self.deletions.len() * size_of::<Deletion>() + self.deleted_names;
        deletions + self.added.len() + self.cached.bytes() + self.complaints.len()
    }

    fn delete(&mut self, deletion: Deletion) {
        self.deleted_names += deletion.name.len();
        self.deletions.push(deletion);
    }

    fn within_bounds(&self) -> Result<()> {
        match self.bounds.changes {
            Some(limit) if self.changes.total() > limit => Err(Error::too_many_changes(limit)),
            _ => Ok(()),
        }
    }

    fn changed(&mut self, diff: &mut Diff, change: &Change) {
        self.changes.count(change.status);
        self.add(diff, change);
        let is_deleted = match change.status {
            Status::Deleted | Status::TypeChanged => true,
            // The archive may omit the new content, and would then leave the old content in place.
            Status::Modified => {
                let is_submodule = change
                    .old
                    .as_ref()
                    .is_some_and(|old| old.mode == Mode::Submodule);
                !is_submodule && diff.view().may_omit_binary()
            }
            Status::Added => false,
        };
        if let Some(old) = change.old.as_ref().filter(|_| is_deleted) {
            self.delete(Deletion {
                name: diff.name(old.mode),
                status: change.status,
                mode: old.mode,
                id: old.id,
            });
        }
    }

    /// Lists the path if the archive of the base lacks it, or may have left it out because of its content. Submodules are
    /// directories, which take nothing away where they come.
    fn add(&mut self, diff: &mut Diff, change: &Change) {
        let may_be_new = change.old.is_none() || diff.view().may_omit_binary();
        let shown = change.new.as_ref().or(change.old.as_ref());
        let is_file = |shown: &&Shown| shown.leaf.kind != MemberKind::Directory;
        if let Some(shown) = shown.filter(is_file).filter(|_| may_be_new) {
            self.added.extend(diff.name(shown.mode));
            self.added.push(0);
        }
    }

    fn directory(&mut self, diff: &Diff, status: Status, id: ObjectId) {
        if status == Status::Deleted {
            self.delete(Deletion {
                name: diff.name(Mode::Directory),
                status,
                mode: Mode::Directory,
                id,
            });
        }
    }
}

/// Summarises a comparison, part by part.
struct Summariser {
    diff: Diff,
    reader: Reader,
    bounds: Bounds,
}

impl Summariser {
    /// Add the next changes to `part`. True after the last change.
    fn summarise(&mut self, part: &mut DeltaPart) -> Result<bool> {
        let read = self.diff.directories();
        loop {
            let step = self.diff.step(&mut self.reader)?;
            part.directories = self.diff.directories() - read;
            match &step {
                DiffStep::Nothing => {}
                DiffStep::End => return Ok(true),
                DiffStep::Changed(change) => {
                    part.changed(&mut self.diff, change);
                    part.within_bounds()?;
                }
                DiffStep::Directory(status, id) => part.directory(&self.diff, *status, *id),
            }
            part.cached.add(&mut self.diff, step);
            if part.directories.max(part.changes.total()) >= PART_LEN || part.bytes() >= PART_BYTES
            {
                return Ok(false);
            }
        }
    }
}

impl Source for Summariser {
    type Batch = DeltaPart;

    fn next(&mut self) -> Result<Made<DeltaPart>> {
        let mut batch = DeltaPart::new(self.bounds);
        let last = self.summarise(&mut batch);
        // An object that was not found may exist in a place without permission.
        if let Some(refusal) = self.reader.odb.refusal() {
            return Err(refusal);
        }
        batch.complaints = self.diff.note().before;
        Ok(Made { batch, last: last? })
    }

    fn fork(&mut self) -> Option<Self> {
        Some(Self {
            diff: self.diff.fork()?,
            reader: self.reader.clone(),
            bounds: self.bounds,
        })
    }
}

/// The worker for parts of a summary. The parts need no work, since [`Total`] joins them.
struct Parts;

impl Worker for Parts {
    type Batch = DeltaPart;
    type Job = DeltaPart;
    type Output = Option<DeltaPart>;
    type Scratch = ();

    fn scratch(&self) {}

    fn split(&self, batch: DeltaPart) -> Result<Vec<DeltaPart>> {
        Ok(vec![batch])
    }

    fn cost(&self, part: &DeltaPart) -> usize {
        part.bytes()
    }

    fn held(&self, part: &Option<DeltaPart>) -> usize {
        part.as_ref().map_or(0, DeltaPart::bytes)
    }

    fn len(&self, part: &Option<DeltaPart>) -> usize {
        self.held(part)
    }

    fn work(
        &self,
        (): &mut (),
        part: DeltaPart,
        out: &mut Option<DeltaPart>,
    ) -> Result<Option<DeltaPart>> {
        *out = Some(part);
        Ok(None)
    }

    fn finish(&self, (): &mut (), _: DeltaPart, _: &mut dyn Sink<Option<DeltaPart>>) -> Result<()> {
        unreachable!("no work is left to the writer")
    }
}

impl Sink<Option<DeltaPart>> for Total {
    fn write(&mut self, part: &mut Option<DeltaPart>) -> Result<()> {
        part.take().map_or(Ok(()), |part| self.append(part))
    }

    fn abandon(&mut self, _: &mut Option<DeltaPart>) {}
}
