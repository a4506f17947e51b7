//! The result of one step of a comparison.

use gix_hash::ObjectId;

use crate::{output::report::Status, plan::view::Leaf};
use sluice_format::MemberKind;
use sluice_git::tree::Mode;

/// An entry as a view shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The mode in the tree.
    pub mode: Mode,
    /// The id in the tree.
    pub id: ObjectId,
    /// The entry for the reader.
    pub leaf: Leaf,
}

/// A path that differs.
#[derive(Clone, Debug)]
pub struct Change {
    /// The kind of change.
    pub status: Status,
    /// The old entry.
    pub old: Option<Shown>,
    /// The new entry.
    pub new: Option<Shown>,
}

/// The result of one step.
pub enum DiffStep {
    /// No change.
    Nothing,
    /// A path that differs.
    Changed(Box<Change>),
    /// A directory that was added or deleted. Reported after its entries.
    Directory(Status, ObjectId),
    /// The end of both trees.
    End,
}

/// The change of a path from its `old` to its `new` entry.
pub(super) fn change(old: Option<Shown>, new: Option<Shown>) -> DiffStep {
    let kind = |shown: &Shown| match shown.leaf.kind {
        MemberKind::Executable => MemberKind::File,
        kind => kind,
    };
    let status = match (&old, &new) {
        (None, None) => return DiffStep::Nothing,
        (None, Some(_)) => Status::Added,
        (Some(_), None) => Status::Deleted,
        (Some(old), Some(new)) if kind(old) != kind(new) => Status::TypeChanged,
        (Some(_), Some(_)) => Status::Modified,
    };
    DiffStep::Changed(Box::new(Change { status, old, new }))
}
