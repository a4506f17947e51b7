//! A comparison divided, so that another thread goes on with the later part of it.

use super::diff::{Diff, Stage};
use crate::tree::Trees;

/// Where a comparison is divided.
struct Middle {
    /// The number of a directory, counted from the root.
    number: usize,
    /// Where in it the later part begins, on either side.
    old: usize,
    new: usize,
}

impl Diff {
    /// Leave the later part to another.
    pub fn fork(&mut self) -> Option<Self> {
        let Self { old, new, .. } = self;
        // Whether a directory may be known of, or was complained of, is found out in order.
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

    /// Where to divide what is left: in the outermost directory that allows it. Of those from there up all
    /// has to be known that is said of them in the end.
    fn middle(&self) -> Option<Middle> {
        let (old, new) = (&self.old.trees, &self.new.trees);
        (0..self.frames.known()).find_map(|number| {
            // Behind a directory that both are in, both go on at the same place.
            let behind = || {
                self.frames
                    .get(number + 1)
                    .filter(|below| below.has_both())?;
                old.middle(number).or(new.middle(number))?;
                Some((new.at(number), old.at(number)))
            };
            let cuts = Trees::common_middle(new, old, number);
            let (new, old) = cuts.or_else(behind)?;
            Some(Middle { number, old, new })
        })
    }
}
