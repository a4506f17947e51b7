//! What the new tree shows of what differs, in the order of the archive.
//!
//! Kept by the first look for as long as it is little; then no tree is read a second time. What is more is
//! found once more while the archive is written, so that memory does not grow with what changed.

use std::{collections::VecDeque, ops::ControlFlow};

use gix::ObjectId;

use super::{
    change::{Change, Shown, Step},
    diff::Diff,
};
use crate::{
    decode::reader::Reader,
    error::Result,
    plan::{
        entry::Past,
        view::{Sizes, View},
    },
    report::Status,
    tree::Mode,
};

/// What a comparison brings to the archive: one entry. The names of all directories above what differs may
/// take more memory than there is, so they come one by one.
pub(super) enum Finding {
    /// A directory with its name: one that is new, or one above what differs.
    Directory(ObjectId, Vec<u8>),
    /// What differs.
    Entry(Found),
}

/// What the new tree shows at a path that differs.
pub(super) struct Found {
    /// Its name in the archive.
    pub name: Vec<u8>,
    /// What happened there.
    pub past: Past,
    /// What is there.
    pub new: Shown,
}

impl Finding {
    /// What `step`, which `diff` has just made, brings to the archive behind the directories above it.
    fn last(diff: &Diff, step: Step) -> Option<Self> {
        match step {
            Step::Changed(change) => {
                let Change { status, old, new } = *change;
                let new = new?;
                let past = Past {
                    status,
                    old: old.map(|old| (old.mode, old.id)),
                };
                Some(Self::Entry(Found {
                    name: diff.name(new.mode),
                    past,
                    new,
                }))
            }
            Step::Directory(Status::Added, id) => {
                Some(Self::Directory(id, diff.name(Mode::Directory)))
            }
            Step::Directory(..) | Step::Nothing | Step::End => None,
        }
    }

    /// The next directory above the `pending` finding, or that itself if all directories were found.
    fn next(diff: &mut Diff, pending: &mut Option<Self>) -> Option<Self> {
        pending.as_ref()?;
        match diff.next_unwritten() {
            Some((id, name)) => Some(Self::Directory(id, name)),
            None => pending.take(),
        }
    }

    /// The bytes that it takes, about.
    fn len(&self) -> usize {
        let (Self::Directory(_, name) | Self::Entry(Found { name, .. })) = self;
        size_of::<Self>() + name.len()
    }
}

/// Findings that are kept, as long as there is room for all of them.
pub struct Kept {
    findings: Option<VecDeque<Finding>>,
    len: usize,
    room: usize,
}

impl Kept {
    /// Keep `room` bytes of them.
    pub fn new(room: usize) -> Self {
        Self {
            findings: Some(VecDeque::new()),
            len: 0,
            room,
        }
    }

    /// Keep what `step`, which `diff` has just made, brings to the archive.
    pub(super) fn add(&mut self, diff: &mut Diff, step: Step) {
        let mut pending = Finding::last(diff, step);
        while let Some(finding) = Finding::next(diff, &mut pending) {
            let len = finding.len();
            if let Some(findings) = self.with(len) {
                findings.push_back(finding);
            }
        }
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.findings.as_ref().map_or(0, |_| self.len)
    }

    /// Keep what `other` keeps, which comes behind this.
    pub(super) fn append(&mut self, other: Self) {
        match (self.with(other.len), other.findings) {
            (Some(findings), Some(others)) => findings.extend(others),
            _ => self.findings = None,
        }
    }

    /// The findings, if there is room for `len` bytes more.
    fn with(&mut self, len: usize) -> Option<&mut VecDeque<Finding>> {
        self.len = self.len.saturating_add(len);
        if self.len > self.room {
            self.findings = None;
        }
        self.findings.as_mut()
    }
}

/// All findings of a comparison, one after the other.
pub struct Findings {
    diff: Diff,
    kept: Option<VecDeque<Finding>>,
    /// What the last step brings, while directories above it come first.
    pending: Option<Finding>,
    /// Directories that were read to find those that are kept.
    directories: u64,
}

impl Findings {
    /// What differs in `diff`, of which a survey has `kept` some and read so many `directories`.
    pub fn new(diff: Diff, kept: Kept, directories: u64) -> Self {
        Self {
            diff,
            directories: kept.findings.as_ref().map_or(0, |_| directories),
            kept: kept.findings,
            pending: None,
        }
    }

    /// The same, with more sizes of the new tree.
    pub fn with(self, sizes: Sizes) -> Self {
        Self {
            diff: self.diff.with(sizes),
            // Without these sizes.
            kept: None,
            pending: None,
            directories: 0,
        }
    }

    /// Leave the later part to another.
    pub(super) fn fork(&mut self) -> Option<Self> {
        if self.kept.is_some() {
            return None;
        }
        Some(Self {
            diff: self.diff.fork()?,
            kept: None,
            pending: None,
            directories: 0,
        })
    }

    /// Go one step further, to the next one perhaps.
    pub(super) fn step(&mut self, reader: &mut Reader) -> Result<ControlFlow<(), Option<Finding>>> {
        if let Some(kept) = &mut self.kept {
            return Ok(match kept.pop_front() {
                Some(finding) => ControlFlow::Continue(Some(finding)),
                None => ControlFlow::Break(()),
            });
        }
        if let Some(finding) = Finding::next(&mut self.diff, &mut self.pending) {
            return Ok(ControlFlow::Continue(Some(finding)));
        }
        let step = self.diff.step(reader)?;
        if matches!(step, Step::End) {
            return Ok(ControlFlow::Break(()));
        }
        // There were complaints when the first look was taken.
        self.diff.view().note();
        self.pending = Finding::last(&self.diff, step);
        let finding = Finding::next(&mut self.diff, &mut self.pending);
        Ok(ControlFlow::Continue(finding))
    }

    /// The view of the new tree.
    pub(super) fn view(&mut self) -> &mut View {
        self.diff.view()
    }

    /// The new tree.
    pub(super) fn new_tree(&self) -> ObjectId {
        self.diff.new_tree()
    }

    /// How many directories were read, on both sides.
    pub(super) fn directories(&self) -> u64 {
        self.directories + self.diff.directories()
    }
}
