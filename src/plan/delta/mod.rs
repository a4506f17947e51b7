//! What changed between two trees, each as its own view shows it.
//!
//! Both are walked in lockstep, in the order of trees. Trees that are equal are not read, unless what
//! decides about them differs: an attribute file above them, or the ignore rules. Then they are read, and still
//! no blob is.
//!
//! One thing is not seen: a file whose `$Format:…$` is expanded, in an unchanged directory, by an attribute
//! file of an unchanged directory below the root. Its blob is the same, and its content is not. To find such
//! files takes reading all trees, and only [`verify()`] does.

mod change;
mod deletions;
mod divide;
mod findings;
mod side;
mod survey;
mod verify;
mod walk;

use gix::ObjectId;

use super::view::{Directory, Sizes, View};
use crate::{
    attributes::Note,
    decode::reader::Reader,
    emit::Kind,
    error::{Error, Result},
    report::Status,
    tree::{Found, Mode, Trees},
};
use change::change;
pub use change::{Change, Shown, Step};
pub use deletions::{Deletion, Deletions, Names};
pub use findings::Findings;
use findings::Kept;
pub use side::Side;
use side::{Order, order};
pub use survey::{Bounds, Survey, whiteout};
pub use verify::verify;
pub use walk::DeltaWalk;

/// What does not count as a difference, and what does although it is the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Permissions do not count.
    pub ignore_mode: bool,
    /// The ignore rules of the two sides differ.
    pub other_ignore: bool,
    /// Attribute files count.
    pub attributes: bool,
    /// `$Format:…$` expands to something else.
    pub other_commit: bool,
}

/// Two trees, being compared.
pub struct Diff {
    old: Side,
    new: Side,
    rules: Rules,
    frames: Vec<Frame>,
    /// What the last step was about.
    path: Vec<u8>,
    stage: Stage,
    directories: u64,
}

/// How far a comparison is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was read.
    Beginning,
    /// Another one has begun it.
    Divided,
    /// It goes on.
    Begun,
}

/// A directory that was entered, on one side or both.
#[derive(Clone)]
struct Frame {
    /// The length of its path.
    path_len: usize,
    /// Its ids, where it was entered.
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    /// Whether anything in it is shown, as far as it is known.
    old_shown: bool,
    new_shown: bool,
    /// Whether anything in it that differs is shown.
    changed: bool,
    /// Whether equal trees in it are read, since what decides about them differs.
    wide: bool,
    /// The same, since the commit may be in the content of files.
    expands: bool,
    /// There is more in it, the same on both sides, that nobody looked at.
    unseen: bool,
    /// Its own entry is in the archive.
    written: bool,
}

impl Diff {
    /// Compare `old` with `new`.
    pub fn new(old: Side, new: Side, rules: Rules) -> Self {
        Self {
            old,
            new,
            rules,
            frames: Vec::new(),
            path: Vec::new(),
            stage: Stage::Beginning,
            directories: 0,
        }
    }

    /// The same comparison, not begun.
    pub fn another(&self) -> Self {
        Self::new(self.old.another(), self.new.another(), self.rules)
    }

    /// The path that the last step was about.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The view of the new tree.
    pub fn view(&mut self) -> &mut View {
        &mut self.new.view
    }

    /// The same, with more sizes of the new tree.
    pub fn with(mut self, sizes: Sizes) -> Self {
        self.new.view = self.new.view.with(sizes);
        self
    }

    /// The new tree.
    pub fn new_tree(&self) -> ObjectId {
        self.new.tree
    }

    /// How many directories were read, on both sides; not those of which nothing may be known.
    pub fn directories(&self) -> u64 {
        self.directories
    }

    /// What the current path, of this `mode`, is called in the archive.
    pub fn name(&self, mode: Mode) -> Vec<u8> {
        self.new.view.name(&self.path, mode).concat()
    }

    /// What there is to complain of about attribute files of the new tree, so far.
    pub fn note(&mut self) -> Note {
        self.old.view.note();
        self.new.view.note()
    }

    /// Go one step further.
    pub fn step(&mut self, reader: &mut Reader) -> Result<Step> {
        match self.stage {
            Stage::Beginning => self.begin(reader)?,
            Stage::Divided => {
                self.stage = Stage::Begun;
                self.old.advance(reader).map_err(Error::without_base)?;
                self.new.advance(reader)?;
            }
            Stage::Begun => {}
        }
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
                Ok(Step::End)
            }
        }
    }

    fn begin(&mut self, reader: &mut Reader) -> Result<()> {
        self.stage = Stage::Begun;
        self.directories = 0;
        self.frames.clear();
        self.old.begin(reader).map_err(Error::without_base)?;
        self.new.begin(reader)?;
        self.push(Some(self.old.tree), Some(self.new.tree));
        if let Some(root) = self.frames.last_mut() {
            // It has no entry of its own.
            root.written = true;
        }
        Ok(())
    }

    /// Note that the directory at the current path was entered.
    fn push(&mut self, old: Option<ObjectId>, new: Option<ObjectId>) {
        if !self.new.rules.discreet {
            self.directories += u64::from(old.is_some()) + u64::from(new.is_some());
        }
        let above = self.frames.last().is_some_and(|frame| frame.wide);
        let at_root = self.frames.is_empty();
        let rules = self.rules;
        let other_rules = at_root && rules.other_ignore;
        let both = old.is_some() && new.is_some();
        let other_attributes = both && rules.attributes && {
            self.old.trees.attribute_file() != self.new.trees.attribute_file()
        };
        self.frames.push(Frame {
            path_len: self.path.len(),
            old,
            new,
            old_shown: false,
            new_shown: false,
            changed: false,
            wide: above || other_rules || other_attributes,
            expands: new.is_some() && rules.other_commit && self.new.view.may_substitute(),
            unseen: false,
            written: false,
        });
    }

    fn old_only(&mut self, reader: &mut Reader, found: Found) -> Result<Step> {
        let advance = |side: &mut Side, reader: &mut Reader| {
            side.advance(reader).map_err(Error::without_base)
        };
        match found {
            Found::End => {
                self.old.view.leave();
                advance(&mut self.old, reader)?;
                let frame = self.frames.pop();
                self.left(frame.as_ref());
                let gone = frame.filter(|frame| frame.old_shown).and_then(|it| it.old);
                Ok(self.directory(Status::Deleted, gone))
            }
            Found::Directory(id) => {
                match self.old.view.directory(&self.path) {
                    Directory::Entered => {
                        self.old.enter(reader, id).map_err(Error::without_base)?;
                        self.push(Some(id), None);
                    }
                    Directory::Omitted(_) | Directory::Hidden => advance(&mut self.old, reader)?,
                }
                Ok(Step::Nothing)
            }
            Found::Leaf { mode, id } => {
                let old = self.old.show(reader, &self.path, mode, id);
                advance(&mut self.old, reader)?;
                self.mark(old.in_directory, false);
                Ok(self.told(old.shown, None))
            }
        }
    }

    fn new_only(&mut self, reader: &mut Reader, found: Found) -> Result<Step> {
        match found {
            Found::End => {
                self.new.view.leave();
                self.new.advance(reader)?;
                let frame = self.frames.pop();
                self.left(frame.as_ref());
                let came = frame.filter(|frame| frame.new_shown && !frame.written);
                let came = came.and_then(|frame| frame.new);
                Ok(self.directory(Status::Added, came))
            }
            Found::Directory(id) => {
                match self.new.view.directory(&self.path) {
                    Directory::Entered => {
                        self.new.enter(reader, id)?;
                        self.push(None, Some(id));
                    }
                    Directory::Omitted(_) | Directory::Hidden => self.new.advance(reader)?,
                }
                Ok(Step::Nothing)
            }
            Found::Leaf { mode, id } => {
                let new = self.new.show(reader, &self.path, mode, id);
                self.new.advance(reader)?;
                self.mark(false, new.in_directory);
                Ok(self.told(None, new.shown))
            }
        }
    }

    fn both(&mut self, reader: &mut Reader, old: Found, new: Found) -> Result<Step> {
        if old == new && old != Found::End && !self.reads_equal() {
            if let Some(frame) = self.frames.last_mut() {
                frame.unseen = true;
            }
            Trees::skip_equal(&mut self.old.trees, &mut self.new.trees);
            self.old.advance(reader).map_err(Error::without_base)?;
            self.new.advance(reader)?;
            return Ok(Step::Nothing);
        }
        match (old, new) {
            (Found::Directory(old), Found::Directory(new)) => {
                self.both_directories(reader, old, new)?;
                Ok(Step::Nothing)
            }
            (
                Found::Leaf { mode, id },
                Found::Leaf {
                    mode: new_mode,
                    id: new_id,
                },
            ) => self.leaves(reader, (mode, id), (new_mode, new_id)),
            _ => self.ends(reader),
        }
    }

    fn both_directories(
        &mut self,
        reader: &mut Reader,
        old: ObjectId,
        new: ObjectId,
    ) -> Result<()> {
        let old_entered = matches!(self.old.view.directory(&self.path), Directory::Entered);
        let new_entered = matches!(self.new.view.directory(&self.path), Directory::Entered);
        match old_entered {
            true => self.old.enter(reader, old),
            false => self.old.advance(reader),
        }
        .map_err(Error::without_base)?;
        match new_entered {
            true => self.new.enter(reader, new)?,
            false => self.new.advance(reader)?,
        }
        if old_entered || new_entered {
            self.push(old_entered.then_some(old), new_entered.then_some(new));
        }
        Ok(())
    }

    /// Whether entries that are the same on both sides are looked at.
    fn reads_equal(&self) -> bool {
        let frame = self.frames.last();
        frame.is_some_and(|frame| frame.wide || frame.expands)
    }

    fn leaves(
        &mut self,
        reader: &mut Reader,
        old: (Mode, ObjectId),
        new: (Mode, ObjectId),
    ) -> Result<Step> {
        let is_wide = self.frames.last().is_some_and(|frame| frame.wide);
        let shown = self.new.show(reader, &self.path, new.0, new.1);
        let was = match old == new && !is_wide {
            true => shown.clone(),
            false => self.old.show(reader, &self.path, old.0, old.1),
        };
        self.old.advance(reader).map_err(Error::without_base)?;
        self.new.advance(reader)?;
        self.mark(was.in_directory, shown.in_directory);
        Ok(match (was.shown, shown.shown) {
            (Some(old), Some(new)) if self.is_same(&old, &new) => Step::Nothing,
            (old, new) => self.told(old, new),
        })
    }

    fn is_same(&self, old: &Shown, new: &Shown) -> bool {
        let kind = |shown: &Shown| match shown.leaf.kind {
            Kind::Executable if self.rules.ignore_mode => Kind::File,
            kind => kind,
        };
        let expands = new.leaf.treatment.substitute && self.rules.other_commit;
        old.id == new.id
            && kind(old) == kind(new)
            && old.leaf.disposition == new.leaf.disposition
            && old.leaf.treatment == new.leaf.treatment
            && !expands
    }

    /// Both sides leave the directory that they entered together.
    fn ends(&mut self, reader: &mut Reader) -> Result<Step> {
        let Some(mut frame) = self.frames.pop() else {
            return Ok(Step::End);
        };
        if frame.unseen && frame.old_shown != frame.new_shown {
            let (side, id) = match frame.old_shown {
                true => (&mut self.new, frame.new),
                false => (&mut self.old, frame.old),
            };
            if let Some(id) = id
                && side.shows_any(reader, &self.path, id)?
            {
                (frame.old_shown, frame.new_shown) = (true, true);
                self.mark(true, true);
            }
        }
        self.left(Some(&frame));
        self.old.view.leave();
        self.new.view.leave();
        self.old.advance(reader).map_err(Error::without_base)?;
        self.new.advance(reader)?;
        if let Some(above) = self.frames.last_mut() {
            above.unseen |= frame.unseen;
        }
        Ok(match (frame.old_shown, frame.new_shown) {
            (true, false) => self.directory(Status::Deleted, frame.old),
            (false, true) if !frame.written => self.directory(Status::Added, frame.new),
            _ => Step::Nothing,
        })
    }

    /// What happened to the directory at the current path. The root has no entry, nor has what lies
    /// above the directory that is archived.
    fn directory(&self, status: Status, id: Option<ObjectId>) -> Step {
        match id {
            Some(id) if self.path.len() > self.new.view.below() => Step::Directory(status, id),
            _ => Step::Nothing,
        }
    }

    /// What happened to the current path, which was `old` and is `new`.
    fn told(&mut self, old: Option<Shown>, new: Option<Shown>) -> Step {
        let step = change(old, new);
        if let (Step::Changed(_), Some(frame)) = (&step, self.frames.last_mut()) {
            frame.changed = true;
        }
        step
    }

    /// Leave the directory of `frame`. Who may not know of all that is in it is told that it was read only
    /// where something that differs in it is shown: else that would tell that something else does.
    fn left(&mut self, frame: Option<&Frame>) {
        let Some(frame) = frame.filter(|frame| frame.changed) else {
            return;
        };
        if let Some(above) = self.frames.last_mut() {
            above.changed = true;
        }
        if self.new.rules.discreet {
            self.directories += u64::from(frame.old_shown) + u64::from(frame.new_shown);
        }
    }

    /// Something is shown in the directory where both are.
    fn mark(&mut self, old: bool, new: bool) {
        for frame in self.frames.iter_mut().rev() {
            if (!old || frame.old_shown) && (!new || frame.new_shown) {
                break;
            }
            frame.old_shown |= old;
            frame.new_shown |= new;
        }
    }

    /// The next directory of the new tree, from the root down to the current path, whose entry is not in the
    /// archive yet, with its name; it counts as written from now on.
    fn next_unwritten(&mut self) -> Option<(ObjectId, Vec<u8>)> {
        for frame in self.frames.iter_mut().filter(|frame| !frame.written) {
            frame.written = true;
            if let Some(id) = frame.new
                && frame.path_len > self.new.view.below()
            {
                let path = &self.path[..frame.path_len];
                return Some((id, self.new.view.name(path, Mode::Directory).concat()));
            }
        }
        None
    }
}
