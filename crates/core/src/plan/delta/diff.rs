//! Compares two trees in lockstep, step by step.

use gix_hash::ObjectId;

use super::{
    change::{DiffStep, Shown, change},
    frames::{Frame, Frames, Visibility},
    side::{Order, Side, order},
};
use crate::{
    output::report::Status,
    plan::view::{DirectoryVerdict, Sizes, View},
};
use sluice_base::error::{Error, Result};
use sluice_format::MemberKind;
use sluice_git::{
    attributes::Note,
    objects::reader::Reader,
    tree::{Mode, TreeStep, Trees},
};

/// Exceptions to equality: differences that do not count, and equal entries that count as changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeltaRules {
    /// Permissions are ignored.
    pub ignore_mode: bool,
    /// Rules from outside of a directory and those above it may differ on the two sides: exclude files, or attribute
    /// files in a sub-directory of the work tree.
    pub other_rules: bool,
    /// Attribute files are considered.
    pub attributes: bool,
    /// `$Format:…$` expands differently on the two sides. Then unchanged directories are read as well, because an
    /// attribute file in one of them may make a file there expand.
    pub other_commit: bool,
}

/// A comparison of two trees.
pub struct Diff {
    pub(super) old: Side,
    pub(super) new: Side,
    pub(super) rules: DeltaRules,
    /// The directories from the root to the current position.
    pub(super) frames: Frames,
    /// The path of the last step.
    pub(super) path: Vec<u8>,
    pub(super) stage: Stage,
}

/// The progress of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No tree was read.
    Beginning,
    /// Another comparison has read the trees and split off this part.
    Divided,
    /// Both sides have their next entry.
    Begun,
}

impl Diff {
    /// Compare `old` with `new`.
    pub fn new(old: Side, new: Side, rules: DeltaRules) -> Self {
        Self {
            frames: Frames::new(new.rules.redacted),
            old,
            new,
            rules,
            path: Vec::new(),
            stage: Stage::Beginning,
        }
    }

    /// Starts the comparison again.
    pub fn another(&self) -> Self {
        Self::new(self.old.another(), self.new.another(), self.rules)
    }

    /// The path of the last step.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The view of the new tree.
    pub fn view(&mut self) -> &mut View {
        &mut self.new.view
    }

    /// Looks up more sizes of the new tree.
    pub fn with(mut self, sizes: Sizes) -> Self {
        self.new.view = self.new.view.with(sizes);
        self
    }

    /// The new tree.
    pub fn new_tree(&self) -> ObjectId {
        self.new.tree
    }

    /// The number of directories read on both sides, as far as the reader may know of them.
    pub fn directories(&self) -> u64 {
        self.frames.directories()
    }

    /// The name of the current path in the archive, for an entry of this `mode`.
    pub fn name(&self, mode: Mode) -> Vec<u8> {
        self.new.view.naming.name(&self.path, mode).concat()
    }

    /// Take the complaints about attribute files of the new tree so far.
    pub fn note(&mut self) -> Note {
        self.old.view.note();
        self.new.view.note()
    }

    /// Advance by one step.
    pub fn step(&mut self, reader: &mut Reader) -> Result<DiffStep> {
        self.make_ready(reader)?;
        let order = order(&self.old, &self.new);
        let leading = match order {
            Order::Old => &self.old,
            Order::New | Order::Both => &self.new,
        };
        self.path.clear();
        self.path.extend_from_slice(&leading.path);
        match (order, self.old.head, self.new.head) {
            (Order::Old, Some(found), _) => self.old_only(reader, found),
            (Order::New, _, Some(found)) => self.new_only(reader, found),
            (Order::Both, Some(old), Some(new)) => self.both(reader, old, new),
            _ => {
                self.stage = Stage::Beginning;
                Ok(DiffStep::End)
            }
        }
    }

    /// Read the next entry of each side, unless the comparison holds them already.
    fn make_ready(&mut self, reader: &mut Reader) -> Result<()> {
        match self.stage {
            Stage::Begun => return Ok(()),
            Stage::Beginning => self.begin(reader)?,
            Stage::Divided => self.advance_both(reader)?,
        }
        self.stage = Stage::Begun;
        Ok(())
    }

    fn begin(&mut self, reader: &mut Reader) -> Result<()> {
        self.frames = Frames::new(self.new.rules.redacted);
        self.path.clear();
        self.old.begin(reader).map_err(Error::without_base)?;
        self.new.begin(reader)?;
        self.enter(Some(self.old.tree), Some(self.new.tree));
        Ok(())
    }

    fn advance_both(&mut self, reader: &mut Reader) -> Result<()> {
        self.old.advance(reader).map_err(Error::without_base)?;
        self.new.advance(reader)
    }

    /// Record that the directory at the current path was entered.
    fn enter(&mut self, old: Option<ObjectId>, new: Option<ObjectId>) {
        let rules = self.rules;
        let is_root = self.frames.is_empty();
        let both = old.is_some() && new.is_some();
        let other_attributes = both && rules.attributes && {
            self.old.trees.attribute_file() != self.new.trees.attribute_file()
        };
        let may_substitute = self.new.view.may_substitute();
        self.frames.push(Frame {
            wide: is_root && rules.other_rules || other_attributes,
            expands: new.is_some() && rules.other_commit && may_substitute,
            // The root has no entry in the archive.
            written: is_root,
            ..Frame::new(self.path.len(), old, new)
        });
    }

    fn old_only(&mut self, reader: &mut Reader, found: TreeStep) -> Result<DiffStep> {
        let advance = |side: &mut Side, reader: &mut Reader| {
            side.advance(reader).map_err(Error::without_base)
        };
        match found {
            TreeStep::End => {
                self.old.view.leave();
                advance(&mut self.old, reader)?;
                let deleted = self.frames.leave().filter(|frame| frame.visibility.old);
                Ok(self.directory(Status::Deleted, deleted.and_then(|frame| frame.old)))
            }
            TreeStep::Directory(id) => {
                match self.old.view.directory(&self.path) {
                    DirectoryVerdict::Entered => {
                        self.old.enter(reader, id).map_err(Error::without_base)?;
                        self.enter(Some(id), None);
                    }
                    DirectoryVerdict::Omitted(_) | DirectoryVerdict::Hidden => {
                        advance(&mut self.old, reader)?
                    }
                }
                Ok(DiffStep::Nothing)
            }
            TreeStep::Leaf { mode, id } => {
                let old = self.old.show(reader, &self.path, mode, id)?;
                advance(&mut self.old, reader)?;
                self.frames.show(Visibility {
                    old: old.in_directory,
                    new: false,
                });
                Ok(self.step_about(old.shown, None))
            }
        }
    }

    fn new_only(&mut self, reader: &mut Reader, found: TreeStep) -> Result<DiffStep> {
        match found {
            TreeStep::End => {
                self.new.view.leave();
                self.new.advance(reader)?;
                let came = self.frames.leave();
                let came = came.filter(|frame| frame.visibility.new && !frame.written);
                Ok(self.directory(Status::Added, came.and_then(|frame| frame.new)))
            }
            TreeStep::Directory(id) => {
                match self.new.view.directory(&self.path) {
                    DirectoryVerdict::Entered => {
                        self.new.enter(reader, id)?;
                        self.enter(None, Some(id));
                    }
                    DirectoryVerdict::Omitted(_) | DirectoryVerdict::Hidden => {
                        self.new.advance(reader)?
                    }
                }
                Ok(DiffStep::Nothing)
            }
            TreeStep::Leaf { mode, id } => {
                let new = self.new.show(reader, &self.path, mode, id)?;
                self.new.advance(reader)?;
                self.frames.show(Visibility {
                    old: false,
                    new: new.in_directory,
                });
                Ok(self.step_about(None, new.shown))
            }
        }
    }

    fn both(&mut self, reader: &mut Reader, old: TreeStep, new: TreeStep) -> Result<DiffStep> {
        if old == new && old != TreeStep::End && !self.reads_equal(old) {
            self.frames.skip();
            let enters = self.rules.other_commit;
            Trees::skip_equal(&mut self.old.trees, &mut self.new.trees, enters);
            self.advance_both(reader)?;
            return Ok(DiffStep::Nothing);
        }
        match (old, new) {
            (TreeStep::Directory(old), TreeStep::Directory(new)) => {
                self.both_directories(reader, old, new)?;
                Ok(DiffStep::Nothing)
            }
            (
                TreeStep::Leaf { mode, id },
                TreeStep::Leaf {
                    mode: new_mode,
                    id: new_id,
                },
            ) => self.leaves(reader, (mode, id), (new_mode, new_id)),
            _ => self.ends(reader),
        }
    }

    /// Whether `found`, which both sides have, is read.
    fn reads_equal(&self, found: TreeStep) -> bool {
        let is_directory = matches!(found, TreeStep::Directory(_));
        self.frames.reads_equal() || is_directory && self.rules.other_commit
    }

    fn both_directories(
        &mut self,
        reader: &mut Reader,
        old: ObjectId,
        new: ObjectId,
    ) -> Result<()> {
        let old_entered = matches!(
            self.old.view.directory(&self.path),
            DirectoryVerdict::Entered
        );
        let new_entered = matches!(
            self.new.view.directory(&self.path),
            DirectoryVerdict::Entered
        );
        if old == new && old_entered && new_entered {
            self.enter_equal(reader, old)?;
        } else {
            if old_entered {
                self.old.enter(reader, old)
            } else {
                self.old.advance(reader)
            }
            .map_err(Error::without_base)?;
            if new_entered {
                self.new.enter(reader, new)?
            } else {
                self.new.advance(reader)?
            }
        }
        if old_entered || new_entered {
            self.enter(old_entered.then_some(old), new_entered.then_some(new));
        }
        Ok(())
    }

    /// Enter the directory `id` at the current path on both sides. Its tree is read once.
    fn enter_equal(&mut self, reader: &mut Reader, id: ObjectId) -> Result<()> {
        let Self { old, new, .. } = self;
        let entered = old.trees.enter(reader, id, &old.path);
        entered.map_err(Error::without_base)?;
        new.trees.enter_equal(&old.trees);
        let begun = old.begin_directory(reader);
        begun.map_err(Error::without_base)?;
        new.begin_directory(reader)
    }

    fn leaves(
        &mut self,
        reader: &mut Reader,
        old: (Mode, ObjectId),
        new: (Mode, ObjectId),
    ) -> Result<DiffStep> {
        let shown = self.new.show(reader, &self.path, new.0, new.1)?;
        let was = if old == new && !self.frames.is_wide() {
            shown.clone()
        } else {
            self.old.show(reader, &self.path, old.0, old.1)?
        };
        self.advance_both(reader)?;
        self.frames.show(Visibility {
            old: was.in_directory,
            new: shown.in_directory,
        });
        Ok(match (was.shown, shown.shown) {
            (Some(old), Some(new)) if self.is_same(&old, &new) => DiffStep::Nothing,
            (old, new) => self.step_about(old, new),
        })
    }

    fn is_same(&self, old: &Shown, new: &Shown) -> bool {
        let kind = |shown: &Shown| match shown.leaf.kind {
            MemberKind::Executable if self.rules.ignore_mode => MemberKind::File,
            kind => kind,
        };
        let expands = new.leaf.treatment.substitute && self.rules.other_commit;
        old.id == new.id
            && kind(old) == kind(new)
            && old.leaf.disposition == new.leaf.disposition
            && old.leaf.treatment == new.leaf.treatment
            && !expands
    }

    /// Leave the directory that both sides entered.
    fn ends(&mut self, reader: &mut Reader) -> Result<DiffStep> {
        self.complete_visibility(reader)?;
        let Some(frame) = self.frames.leave() else {
            return Ok(DiffStep::End);
        };
        self.old.view.leave();
        self.new.view.leave();
        self.advance_both(reader)?;
        let Visibility { old, new } = frame.visibility;
        Ok(match (old, new) {
            (true, false) => self.directory(Status::Deleted, frame.old),
            (false, true) if !frame.written => self.directory(Status::Added, frame.new),
            _ => DiffStep::Nothing,
        })
    }

    /// Complete the visibility of a directory that only one side shows so far: an entry that was skipped as
    /// equal may show it on the other side.
    fn complete_visibility(&mut self, reader: &mut Reader) -> Result<()> {
        let Some(frame) = self.frames.last() else {
            return Ok(());
        };
        let Visibility { old, new } = frame.visibility;
        if frame.unseen && old != new {
            let (side, id) = if old {
                (&mut self.new, frame.new)
            } else {
                (&mut self.old, frame.old)
            };
            if let Some(id) = id
                && side.shows_any(reader, &self.path, id)?
            {
                self.frames.show(Visibility::BOTH);
            }
        }
        Ok(())
    }

    /// The step about the directory at the current path. The root has no entry, and neither have the
    /// directories above the archived directory.
    fn directory(&self, status: Status, id: Option<ObjectId>) -> DiffStep {
        match id {
            Some(id) if self.path.len() > self.new.view.naming.below.len() => {
                DiffStep::Directory(status, id)
            }
            _ => DiffStep::Nothing,
        }
    }

    /// The step about the current path, with its `old` and its `new` entry.
    fn step_about(&mut self, old: Option<Shown>, new: Option<Shown>) -> DiffStep {
        let step = change(old, new);
        if matches!(step, DiffStep::Changed(_)) {
            self.frames.change();
        }
        step
    }

    /// The next directory of the new tree, from the root down to the current path, without an entry in the
    /// archive; with its name. The directory counts as written from now on.
    pub(super) fn next_unwritten(&mut self) -> Option<(ObjectId, Vec<u8>)> {
        let (id, path_len) = self
            .frames
            .next_unwritten(self.new.view.naming.below.len())?;
        let path = &self.path[..path_len];
        Some((
            id,
            self.new.view.naming.name(path, Mode::Directory).concat(),
        ))
    }
}
