//! What the plan says of one entry.

use std::ops::Range;

use gix::ObjectId;

use crate::{
    attributes::Note, convert::Treatment, decode::chain::NodeId, emit::MemberKind,
    filter::Disposition, report::Status, tree::Mode,
};

/// One entry of the archive.
pub struct Entry {
    pub(super) path: Range<usize>,
    /// What it is in the tree.
    pub mode: Mode,
    /// What it is in the archive.
    pub kind: MemberKind,
    /// Its id as the tree has it; a replacement does not show here.
    pub id: ObjectId,
    /// Where its content lies.
    pub blob: Blob,
    /// What becomes of it, as far as that can be told without its content; before its blob is located, by
    /// its path.
    pub disposition: Disposition,
    /// The size of its content in bytes, if that had to be known.
    pub size: Option<u64>,
    /// What is done to the content on its way.
    pub treatment: Treatment,
    /// What is to be said about it; rarely anything.
    pub note: Option<Box<Note>>,
    /// What it was, if only what changed is archived.
    pub past: Option<Box<Past>>,
}

/// What happened to the path of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// In a word.
    pub status: Status,
    /// What was there.
    pub old: Option<(Mode, ObjectId)>,
}

impl Entry {
    /// Its full name in the archive, which lies in the `paths` of its window.
    pub(super) fn name<'a>(&self, paths: &'a [u8]) -> &'a [u8] {
        &paths[self.path.clone()]
    }

    /// Whether the archive goes without it.
    pub fn is_omitted(&self) -> bool {
        matches!(self.disposition, Disposition::Omitted(_))
    }
}

/// Where the content of an entry lies.
#[derive(Clone, Copy, Debug)]
pub enum Blob {
    /// It has none.
    None,
    /// In a pack.
    Packed(NodeId),
    /// In the loose file of this object directory.
    Loose(u32),
    /// In no object: the extra file of this number.
    Extra(u32),
    /// Not located yet; afterwards, not where it should be: what reads it has to look everywhere, and then fail.
    Unknown,
}
