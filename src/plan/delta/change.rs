//! What one step of a comparison tells.

use gix::ObjectId;

use crate::{emit::MemberKind, plan::view::Leaf, report::Status, tree::Mode};

/// An entry as a view shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What it is in the tree.
    pub mode: Mode,
    /// Its id there.
    pub id: ObjectId,
    /// What it is to the reader.
    pub leaf: Leaf,
}

/// A path that differs.
#[derive(Clone, Debug)]
pub struct Change {
    /// What happened to it.
    pub status: Status,
    /// What it was.
    pub old: Option<Shown>,
    /// What it is.
    pub new: Option<Shown>,
}

/// What one step found.
pub enum Step {
    /// Nothing to tell.
    Nothing,
    /// A path that differs.
    Changed(Box<Change>),
    /// A directory that came or went; after all that is in it.
    Directory(Status, ObjectId),
    /// Both trees are through.
    End,
}

/// What happened to a path that was `old` and is `new`.
pub(super) fn change(old: Option<Shown>, new: Option<Shown>) -> Step {
    let kind = |shown: &Shown| match shown.leaf.kind {
        MemberKind::Executable => MemberKind::File,
        kind => kind,
    };
    let status = match (&old, &new) {
        (None, None) => return Step::Nothing,
        (None, Some(_)) => Status::Added,
        (Some(_), None) => Status::Deleted,
        (Some(old), Some(new)) if kind(old) != kind(new) => Status::TypeChanged,
        (Some(_), Some(_)) => Status::Modified,
    };
    Step::Changed(Box::new(Change { status, old, new }))
}
