//! The classes: how each is written, and whether it is a difference.

use std::cmp::Reverse;

use super::commit::Rank;

/// The class of a line. Counts are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineClass {
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
    /// The path occurs more than once.
    Twice,
    /// Readers may disagree about the entry.
    Doubt,
}

impl LineClass {
    /// All classes, in order.
    pub(super) const ALL: [Self; 10] = [
        Self::Same,
        Self::AsStored,
        Self::Added,
        Self::Changed,
        Self::LineEndings,
        Self::Missing,
        Self::Mode,
        Self::Type,
        Self::Twice,
        Self::Doubt,
    ];

    /// The word in lines, counts and expectations.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::AsStored => "as-stored",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::LineEndings => "line-endings",
            Self::Missing => "missing",
            Self::Mode => "mode",
            Self::Type => "type",
            Self::Twice => "twice",
            Self::Doubt => "doubt",
        }
    }

    /// Whether a line of the class is a difference.
    pub(super) fn is_difference(self) -> bool {
        match self {
            Self::Same | Self::AsStored => false,
            Self::Added | Self::Changed | Self::LineEndings | Self::Missing => true,
            Self::Mode | Self::Type | Self::Twice | Self::Doubt => true,
        }
    }

    /// The differences that users may expect. What programs read differently is never expected.
    pub(super) fn expectable() -> impl Iterator<Item = Self> {
        let is_ambiguous = |class| matches!(class, Self::Twice | Self::Doubt);
        let classes = Self::ALL.into_iter();
        classes.filter(move |class| class.is_difference() && !is_ambiguous(*class))
    }

    /// Whether the count is shown even if it is 0.
    pub(super) fn is_always_shown(self) -> bool {
        matches!(self, Self::Added | Self::Changed | Self::Missing)
    }
}

/// The number of lines of each class.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts([u64; LineClass::ALL.len()]);

impl Counts {
    pub(super) fn add(&mut self, class: LineClass) {
        self.0[class as usize] += 1;
    }

    pub(super) fn of(&self, class: LineClass) -> u64 {
        self.0[class as usize]
    }

    /// Each class with its number.
    pub(super) fn all(&self) -> impl Iterator<Item = (LineClass, u64)> {
        LineClass::ALL.into_iter().zip(self.0)
    }

    /// The number of differences.
    pub(super) fn differences(&self) -> u64 {
        let differences = self.all().filter(|(class, _)| class.is_difference());
        differences.map(|(_, count)| count).sum()
    }

    /// How near a tag of this `time` is.
    pub(super) fn rank(&self, time: u64) -> Rank {
        use LineClass::{AsStored, Changed, LineEndings, Missing, Mode, Same, Type};
        let sum = |classes: &[LineClass]| classes.iter().map(|it| self.of(*it)).sum();
        Rank {
            equal: sum(&[Same, AsStored]),
            changed: Reverse(sum(&[Changed, LineEndings, Mode, Type])),
            missing: Reverse(self.of(Missing)),
            time,
        }
    }
}
