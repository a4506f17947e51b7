//! The new entries that a comparison adds to the archive, in the order of the archive.
//!
//! The summary pass caches them up to a fixed number of bytes. If all of them fit, the archive pass reads
//! no tree again; otherwise it repeats the comparison, so memory stays constant.

use std::{collections::VecDeque, ops::ControlFlow};

use gix_hash::ObjectId;

use super::{
    change::{Change, DiffStep, Shown},
    diff::Diff,
};
use crate::{
    output::report::Status,
    plan::{
        entry::ChangeRecord,
        view::{Sizes, View},
    },
};
use sluice_base::error::Result;
use sluice_git::{objects::reader::Reader, tree::Mode};

/// One new entry. The names of all directories above a change may exceed the memory, so directories come
/// one by one.
#[derive(Clone)]
pub(super) enum NewEntry {
    /// A directory with its name: a new one, or one above a change.
    Directory(ObjectId, Vec<u8>),
    /// A file, link or submodule that differs.
    Leaf(NewLeaf),
}

/// A file, link or submodule of the new tree that differs.
#[derive(Clone)]
pub(super) struct NewLeaf {
    /// The name in the archive.
    pub name: Vec<u8>,
    /// The change of the path.
    pub change: ChangeRecord,
    /// The entry in the new tree.
    pub new: Shown,
}

impl NewEntry {
    /// The new entry of `step`, the last step of `diff`. The directories above come first.
    fn last(diff: &Diff, step: DiffStep) -> Option<Self> {
        match step {
            DiffStep::Changed(change) => {
                let Change { status, old, new } = *change;
                let new = new?;
                let change = ChangeRecord {
                    status,
                    old: old.map(|old| (old.mode, old.id)),
                };
                Some(Self::Leaf(NewLeaf {
                    name: diff.name(new.mode),
                    change,
                    new,
                }))
            }
            DiffStep::Directory(Status::Added, id) => {
                Some(Self::Directory(id, diff.name(Mode::Directory)))
            }
            DiffStep::Directory(..) | DiffStep::Nothing | DiffStep::End => None,
        }
    }

    /// The next directory above the `pending` entry, or the entry itself after all directories.
    fn next(diff: &mut Diff, pending: &mut Option<Self>) -> Option<Self> {
        pending.as_ref()?;
        match diff.next_unwritten() {
            Some((id, name)) => Some(Self::Directory(id, name)),
            None => pending.take(),
        }
    }

    /// The size in memory, in bytes.
    fn len(&self) -> usize {
        let (Self::Directory(_, name) | Self::Leaf(NewLeaf { name, .. })) = self;
        size_of::<Self>() + name.len()
    }
}

/// New entries in memory, as long as all of them fit.
pub struct CachedChanges {
    /// `None` once an entry did not fit.
    entries: Option<VecDeque<NewEntry>>,
    bytes: usize,
    max_bytes: usize,
}

impl CachedChanges {
    /// An empty cache of `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            entries: Some(VecDeque::new()),
            bytes: 0,
            max_bytes,
        }
    }

    /// Add the new entries of `step`, the last step of `diff`.
    pub(super) fn add(&mut self, diff: &mut Diff, step: DiffStep) {
        let mut pending = NewEntry::last(diff, step);
        while let Some(entry) = NewEntry::next(diff, &mut pending) {
            if let Some(entries) = self.make_room(entry.len()) {
                entries.push_back(entry);
            }
        }
    }

    /// Bytes in the cache.
    pub(super) fn bytes(&self) -> usize {
        self.entries.as_ref().map_or(0, |_| self.bytes)
    }

    /// Append the entries of `other`.
    pub(super) fn append(&mut self, other: Self) {
        match (self.make_room(other.bytes), other.entries) {
            (Some(entries), Some(others)) => entries.extend(others),
            _ => self.entries = None,
        }
    }

    /// The entries, if `bytes` more bytes fit.
    fn make_room(&mut self, bytes: usize) -> Option<&mut VecDeque<NewEntry>> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes {
            self.entries = None;
        }
        self.entries.as_mut()
    }
}

/// The new entries of a comparison, one after the other.
pub struct Changes {
    diff: Diff,
    /// All new entries, if the summary pass cached them.
    cached: Option<VecDeque<NewEntry>>,
    /// The entry of the last step, until the directories above it are returned.
    pending: Option<NewEntry>,
    /// Directories that the summary pass read.
    directories: u64,
}

/// A clone begins at the first change again.
impl Clone for Changes {
    fn clone(&self) -> Self {
        Self {
            diff: self.diff.another(),
            cached: self.cached.clone(),
            pending: None,
            directories: self.directories,
        }
    }
}

impl Changes {
    /// The changes of `diff`. The summary pass has `cached` them if they fit, and has read so many
    /// `directories`.
    pub fn new(diff: Diff, cached: CachedChanges, directories: u64) -> Self {
        Self {
            diff,
            directories: cached.entries.as_ref().map_or(0, |_| directories),
            cached: cached.entries,
            pending: None,
        }
    }

    /// Looks up more sizes of the new tree.
    pub fn with(self, sizes: Sizes) -> Self {
        Self {
            diff: self.diff.with(sizes),
            // The summary pass did not look these sizes up.
            cached: None,
            pending: None,
            directories: 0,
        }
    }

    /// Split off the later part.
    pub(super) fn fork(&mut self) -> Option<Self> {
        if self.cached.is_some() {
            return None;
        }
        Some(Self {
            diff: self.diff.fork()?,
            cached: None,
            pending: None,
            directories: 0,
        })
    }

    /// Advance by one step, which may have no new entry.
    pub(super) fn step(
        &mut self,
        reader: &mut Reader,
    ) -> Result<ControlFlow<(), Option<NewEntry>>> {
        if let Some(cached) = &mut self.cached {
            return Ok(match cached.pop_front() {
                Some(entry) => ControlFlow::Continue(Some(entry)),
                None => ControlFlow::Break(()),
            });
        }
        if let Some(entry) = NewEntry::next(&mut self.diff, &mut self.pending) {
            return Ok(ControlFlow::Continue(Some(entry)));
        }
        let step = self.diff.step(reader)?;
        if matches!(step, DiffStep::End) {
            return Ok(ControlFlow::Break(()));
        }
        // The summary pass has reported the complaints.
        self.diff.view().note();
        self.pending = NewEntry::last(&self.diff, step);
        let entry = NewEntry::next(&mut self.diff, &mut self.pending);
        Ok(ControlFlow::Continue(entry))
    }

    /// The view of the new tree.
    pub(super) fn view(&mut self) -> &mut View {
        self.diff.view()
    }

    /// The new tree.
    pub(super) fn new_tree(&self) -> ObjectId {
        self.diff.new_tree()
    }

    /// The number of directories read on both sides.
    pub(super) fn directories(&self) -> u64 {
        self.directories + self.diff.directories()
    }
}
