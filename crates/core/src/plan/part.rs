//! The part of a plan between two entries.
//!
//! Entries before the part are walked over, and their blobs are not located. Nothing after the part is planned. Windows
//! of the part that were planned before are taken as they are.

use std::collections::VecDeque;

use super::{Planner, Window};
use sluice_base::{
    error::Result,
    pipeline::{Made, Source},
};

/// Entries of a plan, counted from the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Entries before the first one that is wanted.
    pub before: u64,
    /// The number of entries that are wanted; `None` for all that follow.
    pub count: Option<u64>,
}

/// Plans a part.
pub struct EntryRange {
    windows: Windows,
    /// The entries that are still to come.
    left: Entries,
}

/// Where the windows come from.
enum Windows {
    Planned(Box<Planner>),
    Kept(VecDeque<Window>),
}

impl EntryRange {
    /// The part `entries` of what `planner` plans.
    pub fn new(planner: Planner, entries: Entries) -> Self {
        Self {
            windows: Windows::Planned(Box::new(planner)),
            left: entries,
        }
    }

    /// The part `entries` of `windows`, which were planned before.
    pub fn kept(windows: Vec<Window>, entries: Entries) -> Self {
        Self {
            windows: Windows::Kept(windows.into()),
            left: entries,
        }
    }
}

impl Windows {
    fn next(&mut self) -> Result<Made<Window>> {
        match self {
            Self::Planned(planner) => planner.next(),
            Self::Kept(windows) => {
                let batch = windows.pop_front().unwrap_or_default();
                let last = windows.is_empty();
                Ok(Made { batch, last })
            }
        }
    }

    fn fork(&mut self) -> Option<Self> {
        match self {
            Self::Planned(planner) => Some(Self::Planned(Box::new(planner.fork()?))),
            Self::Kept(_) => None,
        }
    }
}

impl Source for EntryRange {
    type Batch = Window;

    fn next(&mut self) -> Result<Made<Window>> {
        let Made {
            mut batch,
            mut last,
        } = self.windows.next()?;
        let Entries { before, count } = &mut self.left;
        let skipped = at_most(*before, batch.entries.len());
        batch.entries.drain(..skipped);
        *before -= skipped as u64;
        if let Some(count) = count {
            let kept = at_most(*count, batch.entries.len());
            batch.entries.truncate(kept);
            *count -= kept as u64;
            last |= *count == 0;
        }
        Ok(Made { batch, last })
    }

    fn fork(&mut self) -> Option<Self> {
        // No thread knows the numbers of later entries before the earlier ones are planned.
        if self.left != Entries::default() {
            return None;
        }
        Some(Self {
            windows: self.windows.fork()?,
            left: Entries::default(),
        })
    }
}

fn at_most(number: u64, len: usize) -> usize {
    usize::try_from(number).map_or(len, |number| number.min(len))
}
