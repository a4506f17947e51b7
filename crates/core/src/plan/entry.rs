//! One planned entry of the archive.

use std::ops::Range;

use gix_hash::ObjectId;

use crate::{filter::Disposition, output::report::Status};
use sluice_format::MemberKind;
use sluice_git::{
    attributes::Note,
    convert::Treatment,
    objects::chain::NodeId,
    tree::{KeptLink, Mode},
};

/// The type in the archive of an entry with this `mode` in its tree.
pub(super) fn kind(mode: Mode) -> MemberKind {
    match mode {
        Mode::File => MemberKind::File,
        Mode::Executable => MemberKind::Executable,
        Mode::Symlink => MemberKind::Symlink,
        Mode::Submodule | Mode::Directory => MemberKind::Directory,
    }
}

/// One entry of the archive.
pub struct Entry {
    pub(super) path: Range<usize>,
    /// The type of the entry in the tree.
    pub mode: Mode,
    /// The type of the entry in the archive.
    pub kind: MemberKind,
    /// The entry's id in the tree, before replacement.
    pub id: ObjectId,
    /// The place of the content.
    pub blob: Blob,
    /// The form in which the entry is sent, decided without its content. Before the blob is located, only the
    /// path has been considered.
    pub disposition: Disposition,
    /// The size of the content in bytes, if the plan looked the size up.
    pub size: Option<u64>,
    /// The treatment of the content.
    pub treatment: Treatment,
    /// Why a link is no copy, where copies take the place of links.
    pub kept: Option<KeptLink>,
    /// Text to print around the entry's name; rarely present.
    pub note: Option<Box<Note>>,
    /// The change of the path, in an archive of changes.
    pub change: Option<Box<ChangeRecord>>,
}

/// What happened to the path of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// The kind of change.
    pub status: Status,
    /// The mode and id of the old entry.
    pub old: Option<(Mode, ObjectId)>,
}

impl Entry {
    /// The entry's full name in the archive, from the `paths` of its window.
    pub(super) fn name<'a>(&self, paths: &'a [u8]) -> &'a [u8] {
        &paths[self.path.clone()]
    }

    /// Whether the archive omits the entry.
    pub fn is_omitted(&self) -> bool {
        matches!(self.disposition, Disposition::Omitted(_))
    }
}

/// The place of an entry's content.
#[derive(Clone, Copy, Debug)]
pub enum Blob {
    /// The entry has no content.
    None,
    /// A pack.
    Packed(NodeId),
    /// A loose file in the object directory of this number.
    Loose(u32),
    /// The extra file of this number.
    Extra(u32),
    /// The blob of this number that is known from elsewhere.
    Known(u32),
    /// The LFS object of this number in the window.
    Lfs(usize),
    /// Not located yet. After the search: not found, so the reader searches everywhere once more and then fails.
    Unknown,
}
