//! The classes: how each is written, and whether it is a difference.

use super::commit::Rank;

/// The class of a line, and of an entry as far as it is known. Counts are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// As `git archive` writes it.
    Same,
    /// Equal to the blob, though an attribute would change it.
    AsStored,
    /// The tree lacks the path.
    Added,
    /// The content differs.
    Changed,
    /// The content is a text that differs only in the ends of its lines.
    LineEndings,
    /// The archive lacks the path.
    Missing,
    /// The permission differs.
    Mode,
    /// The type differs.
    Type,
    /// The path occurs more than once. This entry is not the last of them.
    Twice,
    /// Readers may disagree about the entry.
    Doubt,
}

impl Class {
    /// All classes in the order of counts, with their words in lines, counts and expectations.
    const WORDS: [(Self, &str); 10] = [
        (Self::Same, "same"),
        (Self::AsStored, "as-stored"),
        (Self::Added, "added"),
        (Self::Changed, "changed"),
        (Self::LineEndings, "line-endings"),
        (Self::Missing, "missing"),
        (Self::Mode, "mode"),
        (Self::Type, "type"),
        (Self::Twice, "twice"),
        (Self::Doubt, "doubt"),
    ];

    /// All classes, in order.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::WORDS.into_iter().map(|(class, _)| class)
    }

    /// The word in lines, counts and expectations.
    pub(super) fn as_str(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(class, _)| *class == self);
        found.expect("all classes are listed").1
    }

    /// Whether a line of the class is a difference.
    pub(super) fn is_difference(self) -> bool {
        !matches!(self, Self::Same | Self::AsStored)
    }

    /// The differences that users may expect. What programs read differently is never expected.
    pub(super) fn expectable() -> impl Iterator<Item = Self> {
        let is_ambiguous = |class| matches!(class, Self::Twice | Self::Doubt);
        Self::all().filter(move |class| class.is_difference() && !is_ambiguous(*class))
    }

    /// Whether the count is shown even if it is 0.
    pub(super) fn is_always_shown(self) -> bool {
        matches!(self, Self::Added | Self::Changed | Self::Missing)
    }
}

/// The number of lines of each class.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts([u64; Class::WORDS.len()]);

impl Counts {
    pub(super) fn add(&mut self, class: Class) {
        self.0[class as usize] += 1;
    }

    pub(super) fn of(&self, class: Class) -> u64 {
        self.0[class as usize]
    }

    /// Each class with its number.
    pub(super) fn all(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::all().map(|class| (class, self.of(class)))
    }

    /// The number of differences.
    pub(super) fn differences(&self) -> u64 {
        let differences = self.all().filter(|(class, _)| class.is_difference());
        differences.map(|(_, count)| count).sum()
    }

    /// How near a tag of this `time` is.
    pub(super) fn rank(&self, time: u64) -> Rank {
        use Class::{AsStored, Changed, LineEndings, Missing, Mode, Same, Type};
        let sum = |classes: &[Class]| classes.iter().map(|it| self.of(*it)).sum();
        let changed = sum(&[Changed, LineEndings, Mode, Type]);
        Rank::new([sum(&[Same, AsStored]), changed, self.of(Missing)], time)
    }
}
