//! Divides a comparison, so that another thread continues with its later part.

use super::diff::{Diff, Stage};
use sluice_git::tree::Trees;

/// The position at which a comparison is divided.
struct Middle {
    /// The number of a directory, counted from the root.
    number: usize,
    /// The position in this directory where the later part begins, on either side.
    old: usize,
    new: usize,
}

impl Diff {
    /// Split off the later part.
    pub fn fork(&mut self) -> Option<Self> {
        let Self { old, new, .. } = self;
        // The visibility of directories and the complaints about them must be determined in order.
        if new.rules.redacted || !old.view.is_silent() || !new.view.is_silent() {
            return None;
        }
        let Middle { number, old, new } = self.middle()?;
        let (old_levels, new_levels) = self.frames.levels_below(number);
        Some(Self {
            old: self.old.fork(number, old, old_levels),
            new: self.new.fork(number, new, new_levels),
            rules: self.rules,
            frames: self.frames.fork(number),
            path: Vec::new(),
            stage: Stage::Divided,
        })
    }

    /// The position at which to divide the rest: in the outermost directory that allows it. The facts about
    /// this directory and those above must be final.
    fn middle(&self) -> Option<Middle> {
        let (old, new) = (&self.old.trees, &self.new.trees);
        (0..self.frames.known()).find_map(|number| {
            // After a directory that both sides have entered, both continue at the same position.
            let last = || {
                self.frames
                    .get(number + 1)
                    .filter(|below| below.has_both())?;
                old.middle(number).or(new.middle(number))?;
                Some((new.at(number), old.at(number)))
            };
            let cuts = Trees::common_middle(new, old, number);
            let (new, old) = cuts.or_else(last)?;
            Some(Middle { number, old, new })
        })
    }
}
