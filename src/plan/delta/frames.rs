//! The directories from the root to where a comparison is, and what of them each side shows.

use gix::ObjectId;

/// A directory that was entered, on one side or both.
#[derive(Clone)]
pub(super) struct Frame {
    /// The length of its path.
    pub(super) path_len: usize,
    /// Its id on the old side, where it was entered.
    pub(super) old: Option<ObjectId>,
    /// Its id on the new side, where it was entered.
    pub(super) new: Option<ObjectId>,
    /// The old side shows an entry in it, as far as is known.
    pub(super) old_shown: bool,
    /// The new side shows an entry in it, as far as is known.
    pub(super) new_shown: bool,
    /// An entry that differs is shown in it.
    pub(super) changed: bool,
    /// Equal trees in it are read, since the rules that decide about them differ.
    pub(super) wide: bool,
    /// Equal trees in it are read, since files may show the commit in their content.
    pub(super) expands: bool,
    /// Entries in it were skipped, since they are the same on both sides.
    pub(super) unseen: bool,
    /// Its own entry is in the archive.
    pub(super) written: bool,
}

impl Frame {
    /// A directory in which nothing was found yet.
    pub(super) fn new(path_len: usize, old: Option<ObjectId>, new: Option<ObjectId>) -> Self {
        Self {
            path_len,
            old,
            new,
            old_shown: false,
            new_shown: false,
            changed: false,
            wide: false,
            expands: false,
            unseen: false,
            written: false,
        }
    }

    /// Whether both sides entered it.
    pub(super) fn has_both(&self) -> bool {
        self.old.is_some() && self.new.is_some()
    }

    /// Whether nothing that follows changes what is said of it.
    fn is_known(&self) -> bool {
        self.has_both() && self.old_shown && self.new_shown && self.written
    }
}

/// All directories that were entered and not left.
pub(super) struct Frames {
    stack: Vec<Frame>,
    /// Directories that were read, on both sides, as far as the reader may know of them.
    directories: u64,
    /// The reader may not know of all entries. A directory counts as read only where a change in it is shown:
    /// otherwise the count would tell of changes that are not.
    redacted: bool,
}

impl Frames {
    pub(super) fn new(redacted: bool) -> Self {
        Self {
            stack: Vec::new(),
            directories: 0,
            redacted,
        }
    }

    pub(super) fn directories(&self) -> u64 {
        self.directories
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub(super) fn last(&self) -> Option<&Frame> {
        self.stack.last()
    }

    /// Enter `frame`, in which the rules that differ above differ as well.
    pub(super) fn push(&mut self, mut frame: Frame) {
        if !self.redacted {
            self.directories += u64::from(frame.old.is_some()) + u64::from(frame.new.is_some());
        }
        frame.wide |= self.is_wide();
        self.stack.push(frame);
    }

    /// Leave the innermost directory, and note above it what was found in it.
    pub(super) fn leave(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        if let Some(above) = self.stack.last_mut() {
            above.changed |= frame.changed;
            above.unseen |= frame.unseen;
        }
        if self.redacted && frame.changed {
            self.directories += u64::from(frame.old_shown) + u64::from(frame.new_shown);
        }
        Some(frame)
    }

    /// Whether the rules that decide about the innermost directory differ.
    pub(super) fn is_wide(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.wide)
    }

    /// Whether entries that are the same on both sides are looked at.
    pub(super) fn reads_equal(&self) -> bool {
        let frame = self.stack.last();
        frame.is_some_and(|frame| frame.wide || frame.expands)
    }

    /// Note that an entry was skipped, since it is the same on both sides.
    pub(super) fn skip(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.unseen = true;
        }
    }

    /// Note that an entry that differs is shown.
    pub(super) fn change(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.changed = true;
        }
    }

    /// Note that the `old` side shows an entry, and the `new` side.
    pub(super) fn show(&mut self, old: bool, new: bool) {
        for frame in self.stack.iter_mut().rev() {
            if (!old || frame.old_shown) && (!new || frame.new_shown) {
                break;
            }
            frame.old_shown |= old;
            frame.new_shown |= new;
        }
    }

    /// The next directory of the new tree, from the root down, with a path of more than `below` bytes, whose
    /// entry is not in the archive yet; with the length of its path. The directory counts as written from now on.
    pub(super) fn next_unwritten(&mut self, below: usize) -> Option<(ObjectId, usize)> {
        let mut unwritten = self.stack.iter_mut().filter(|frame| !frame.written);
        unwritten.find_map(|frame| {
            frame.written = true;
            let id = frame.new.filter(|_| frame.path_len > below)?;
            Some((id, frame.path_len))
        })
    }

    /// How many directories, from the root down, nothing changes that follows.
    pub(super) fn known(&self) -> usize {
        self.stack
            .iter()
            .take_while(|frame| frame.is_known())
            .count()
    }

    /// The directory of this `number`, counted from the root.
    pub(super) fn get(&self, number: usize) -> Option<&Frame> {
        self.stack.get(number)
    }

    /// How many directories below that of this `number` the sides entered: the old one, and the new one.
    pub(super) fn levels_below(&self, number: usize) -> (usize, usize) {
        let below = &self.stack[number + 1..];
        let old = below.iter().filter(|frame| frame.old.is_some());
        let new = below.iter().filter(|frame| frame.new.is_some());
        (old.count(), new.count())
    }

    /// The directories down to that of this `number`, for another comparison to go on in them.
    pub(super) fn fork(&self, number: usize) -> Self {
        Self {
            stack: self.stack[..=number].to_vec(),
            ..Self::new(self.redacted)
        }
    }
}
