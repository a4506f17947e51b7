//! Files outside the tree that are archived after all entries of the tree (`--add-file`,
//! `--add-virtual-file`).

use std::path::PathBuf;

use bstr::BString;
use gix_hash::{Kind as HashKind, ObjectId};

use sluice_format::MemberKind;

/// A file whose path or content is on the command line.
#[derive(Clone, Debug)]
pub struct Extra {
    /// The full name in the archive.
    pub name: BString,
    /// The type in the archive.
    pub kind: MemberKind,
    /// The source of the content.
    pub content: ExtraSource,
}

/// The source of an [`Extra`]'s content.
#[derive(Clone, Debug)]
pub enum ExtraSource {
    /// A file. Messages show its path from the top of the work tree.
    File {
        /// The path from the current directory.
        path: PathBuf,
        /// The path for messages.
        shown: BString,
    },
    /// The content itself.
    Bytes(Vec<u8>),
}

/// The substitute for the object id of the extra file `number`, counted from 0.
pub(super) fn id(hash: HashKind, number: u32) -> ObjectId {
    let mut id = ObjectId::null(hash);
    id.as_mut_slice()[..8].copy_from_slice(&(u64::from(number) + 1).to_be_bytes());
    id
}
