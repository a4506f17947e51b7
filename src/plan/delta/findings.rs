//! What the new tree shows of what differs, in the order of the archive.
//!
//! Kept by the first look for as long as it is little; then no tree is read a second time. What is more is
//! found once more while the archive is written, so that memory does not grow with what changed.

use std::collections::VecDeque;

use gix::ObjectId;

use super::{Change, Diff, Shown, Step};
use crate::{
    decode::reader::Reader,
    error::Result,
    filter::Sizes,
    plan::{
        entry::{Mode, Past},
        view::View,
    },
    report::Status,
};

/// What one step brings to the archive.
pub(super) struct Finding {
    /// Directories whose entries come first, with their names.
    pub directories: Vec<(ObjectId, Vec<u8>)>,
    /// What differs, unless that is the last of the directories.
    pub entry: Option<Found>,
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
    /// What `step`, which `diff` has just made, brings to the archive.
    fn new(diff: &mut Diff, step: Step) -> Option<Self> {
        match step {
            Step::Changed(change) => {
                let Change { status, old, new } = *change;
                let new = new?;
                let past = Past {
                    status,
                    old: old.map(|old| (old.mode, old.id)),
                };
                Some(Self {
                    directories: diff.unwritten(),
                    entry: Some(Found {
                        name: diff.name(new.mode),
                        past,
                        new,
                    }),
                })
            }
            Step::Directory(Status::Added, id) => {
                let mut directories = diff.unwritten();
                directories.push((id, diff.name(Mode::Directory)));
                Some(Self {
                    directories,
                    entry: None,
                })
            }
            Step::Directory(..) | Step::Nothing | Step::End => None,
        }
    }

    /// The bytes that it takes, about.
    fn len(&self) -> usize {
        let directory = |(_, name): &(ObjectId, Vec<u8>)| size_of::<ObjectId>() + name.len();
        let directories: usize = self.directories.iter().map(directory).sum();
        let name = self.entry.as_ref().map_or(0, |entry| entry.name.len());
        size_of::<Self>() + directories + name
    }
}

/// Findings that are kept, as long as there is room for all of them.
pub struct Kept {
    findings: Option<VecDeque<Finding>>,
    room: usize,
}

impl Kept {
    /// Keep `room` bytes of them.
    pub fn new(room: usize) -> Self {
        Self {
            findings: Some(VecDeque::new()),
            room,
        }
    }

    /// Keep what `step`, which `diff` has just made, brings to the archive.
    pub(super) fn add(&mut self, diff: &mut Diff, step: Step) {
        let Some(findings) = &mut self.findings else {
            return;
        };
        if let Some(finding) = Finding::new(diff, step) {
            match self.room.checked_sub(finding.len()) {
                Some(room) => {
                    self.room = room;
                    findings.push_back(finding);
                }
                None => self.findings = None,
            }
        }
    }
}

/// All findings of a comparison, one after the other.
pub struct Findings {
    diff: Diff,
    kept: Option<VecDeque<Finding>>,
}

impl Findings {
    /// What differs in `diff`, of which a survey has `kept` some.
    pub fn new(diff: Diff, kept: Kept) -> Self {
        Self {
            diff,
            kept: kept.findings,
        }
    }

    /// The same, with more sizes of the new tree.
    pub fn with(self, sizes: Sizes) -> Self {
        Self {
            diff: self.diff.with(sizes),
            // Without these sizes.
            kept: None,
        }
    }

    /// The next one.
    pub(super) fn next(&mut self, reader: &mut Reader) -> Result<Option<Finding>> {
        if let Some(kept) = &mut self.kept {
            return Ok(kept.pop_front());
        }
        loop {
            let step = self.diff.step(reader)?;
            if matches!(step, Step::End) {
                return Ok(None);
            }
            // There were complaints when the first look was taken.
            self.diff.view().note();
            if let Some(finding) = Finding::new(&mut self.diff, step) {
                return Ok(Some(finding));
            }
        }
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
        self.diff.directories()
    }
}
