//! A directory on the stack of a walk.

use std::sync::OnceLock;

use bstr::ByteSlice;
use gix_hash::{Kind as HashKind, ObjectId};

use crate::tree::{
    entry::{Mode, TreeEntry, entries, find},
    links::Seen,
};
use sluice_base::buffer::Buffer;

/// A directory that was entered and not left.
pub(super) struct Frame {
    pub(super) id: ObjectId,
    /// What the walk had read when the tree itself was read.
    pub(super) read_at: usize,
    /// The tree's bytes; empty while the tree is dropped.
    pub(super) content: Buffer,
    pub(super) at: usize,
    /// The end of this walk's part of the tree.
    pub(super) end: usize,
    /// The length of the directory's path, without slash at its end.
    pub(super) path_len: usize,
    /// The directory's entry is in the archive.
    pub(super) written: bool,
    pub(super) seen: Seen,
    /// The cached id of the directory's attribute file.
    pub(super) attribute_file: OnceLock<Option<ObjectId>>,
}

impl Frame {
    /// The attribute file in this directory.
    pub(super) fn attribute_file(&self, hash: HashKind) -> Option<ObjectId> {
        *self.attribute_file.get_or_init(|| {
            if !self.content.contains_str(".gitattributes\0") {
                return None;
            }
            let (id, mode) = find(&self.content, hash, b".gitattributes")?;
            (mode != Mode::Directory).then_some(id)
        })
    }

    /// The remaining entries, each with its offset.
    pub(super) fn rest(&self, hash: HashKind) -> impl Iterator<Item = (usize, TreeEntry<'_>)> {
        entries(&self.content[..self.end], self.at, hash)
    }
}
