//! The directories from the root to the position of a comparison, and which sides show them.
//!
//! A directory is in an archive only if an entry in it is. So only when the comparison leaves a directory is it known
//! whether the directory was added, deleted or neither. An example, with `*.md` left out of both archives:
//!
//! ```text
//! old tree     new tree     in the directory       on leaving it
//! doc/a.md     doc/a.md     equal: skipped         The old side shows doc. The new side may show it by the skipped
//! doc/b.txt                 shown by the old side  a.md: its view is asked, and does not. So doc was deleted.
//! src/a.rs     src/a.rs     equal: skipped         The same question, and the view shows a.rs. So both sides show
//! src/b.rs                  shown by the old side  src, and only src/b.rs was deleted.
//! ```

use gix_hash::ObjectId;

/// The sides of a comparison that show an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Visibility {
    pub(super) old: bool,
    pub(super) new: bool,
}

impl Visibility {
    pub(super) const BOTH: Self = Self {
        old: true,
        new: true,
    };

    fn or(self, other: Self) -> Self {
        Self {
            old: self.old | other.old,
            new: self.new | other.new,
        }
    }

    /// The number of sides that show it.
    fn count(self) -> u64 {
        u64::from(self.old) + u64::from(self.new)
    }
}

/// A directory that was entered on one side or both.
#[derive(Clone)]
pub(super) struct Frame {
    /// The length of its path.
    pub(super) path_len: usize,
    /// Its id on the old side, if entered there.
    pub(super) old: Option<ObjectId>,
    /// Its id on the new side, if entered there.
    pub(super) new: Option<ObjectId>,
    /// The sides that show an entry in it, as far as known.
    pub(super) visibility: Visibility,
    /// Whether it shows an entry that differs.
    pub(super) changed: bool,
    /// Whether equal trees in it are read, because the rules about them differ.
    pub(super) wide: bool,
    /// Whether equal trees in it are read, because the content of files may contain the commit.
    pub(super) expands: bool,
    /// Whether equal entries in it were skipped.
    pub(super) unseen: bool,
    /// Whether its own entry is in the archive.
    pub(super) written: bool,
}

impl Frame {
    /// A directory in which nothing was found yet.
    pub(super) fn new(path_len: usize, old: Option<ObjectId>, new: Option<ObjectId>) -> Self {
        Self {
            path_len,
            old,
            new,
            visibility: Visibility::default(),
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

    /// Whether later entries cannot change any fact about it. The root has no entry that could be shown.
    fn is_known(&self) -> bool {
        let is_root = self.path_len == 0;
        self.has_both() && self.written && (is_root || self.visibility == Visibility::BOTH)
    }
}

/// All directories that were entered and not left.
pub(super) struct Frames {
    stack: Vec<Frame>,
    /// Directories read on both sides, as far as the reader may know of them.
    directories: u64,
    /// Whether entries may be hidden from the reader. Then a directory counts as read only if a change in
    /// it is shown: otherwise the count would reveal hidden changes.
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

    /// Enter `frame`, which inherits differing rules from the directories above.
    pub(super) fn push(&mut self, mut frame: Frame) {
        if !self.redacted {
            self.directories += u64::from(frame.old.is_some()) + u64::from(frame.new.is_some());
        }
        frame.wide |= self.is_wide();
        self.stack.push(frame);
    }

    /// Leave the innermost directory, and pass its facts to the directory above.
    pub(super) fn leave(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        if let Some(above) = self.stack.last_mut() {
            above.changed |= frame.changed;
            above.unseen |= frame.unseen;
        }
        if self.redacted && frame.changed {
            self.directories += frame.visibility.count();
        }
        Some(frame)
    }

    /// Whether the rules about the innermost directory differ.
    pub(super) fn is_wide(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.wide)
    }

    /// Whether entries that are equal on both sides are read.
    pub(super) fn reads_equal(&self) -> bool {
        let frame = self.stack.last();
        frame.is_some_and(|frame| frame.wide || frame.expands)
    }

    /// Record that an equal entry was skipped.
    pub(super) fn skip(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.unseen = true;
        }
    }

    /// Record that a differing entry is shown.
    pub(super) fn change(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.changed = true;
        }
    }

    /// Record that these sides show an entry.
    pub(super) fn show(&mut self, shown: Visibility) {
        for frame in self.stack.iter_mut().rev() {
            let known = frame.visibility;
            frame.visibility = known.or(shown);
            // The directories above are shown already.
            if frame.visibility == known {
                break;
            }
        }
    }

    /// The next directory of the new tree, from the root down, with a path of more than `below` bytes and
    /// without an entry in the archive; with the length of its path. The directory counts as written from
    /// now on.
    pub(super) fn next_unwritten(&mut self, below: usize) -> Option<(ObjectId, usize)> {
        let mut unwritten = self.stack.iter_mut().filter(|frame| !frame.written);
        unwritten.find_map(|frame| {
            frame.written = true;
            let id = frame.new.filter(|_| frame.path_len > below)?;
            Some((id, frame.path_len))
        })
    }

    /// The number of directories, from the root down, whose facts are final.
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

    /// The number of directories below that of this `number` which each side entered, the old side first.
    pub(super) fn levels_below(&self, number: usize) -> (usize, usize) {
        let below = &self.stack[number + 1..];
        let old = below.iter().filter(|frame| frame.old.is_some());
        let new = below.iter().filter(|frame| frame.new.is_some());
        (old.count(), new.count())
    }

    /// The directories down to that of this `number`, for the comparison that is split off.
    pub(super) fn fork(&self, number: usize) -> Self {
        Self {
            stack: self.stack[..=number].to_vec(),
            ..Self::new(self.redacted)
        }
    }
}
