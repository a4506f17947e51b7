//! Files that are in no tree and are archived behind all that are (`--add-file` and its sibling).

use std::path::PathBuf;

use gix::{ObjectId, bstr::BString, hash::Kind as HashKind};

use crate::emit::MemberKind;

/// A file that the command line names or holds.
#[derive(Clone, Debug)]
pub struct Extra {
    /// Its full name in the archive.
    pub name: BString,
    /// What it is in the archive.
    pub kind: MemberKind,
    /// Where its content is.
    pub content: Content,
}

/// Where the content of an [`Extra`] is.
#[derive(Clone, Debug)]
pub enum Content {
    /// In this file, which messages call by its path from the top of the work tree.
    File {
        /// From the current directory.
        path: PathBuf,
        /// For messages.
        shown: BString,
    },
    /// Here.
    Bytes(Vec<u8>),
}

/// What stands in for the object id of the extra file `number`, counted from 0.
pub(super) fn id(hash: HashKind, number: u32) -> ObjectId {
    let mut id = ObjectId::null(hash);
    id.as_mut_slice()[..8].copy_from_slice(&(u64::from(number) + 1).to_be_bytes());
    id
}
