//! What is converted: a file, and the archived tree that it comes from, as far as conversions show them.

use std::sync::{Arc, LazyLock};

use bstr::{BStr, BString};
use gix_hash::ObjectId;

use sluice_base::error::Result;

use crate::program::ArchiveRules;

/// A file to be converted.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// The path for which git looks up the conversion: without the archive's prefix.
    pub path: &'a BStr,
    /// The id in the tree.
    pub id: ObjectId,
    /// The id of the content. Differs from `id` for a replaced object.
    pub stored: ObjectId,
    /// Whether the content is an object of Git LFS, for which the tree has a pointer.
    pub is_lfs_object: bool,
}

/// The full name of the ref, if the user named a ref and nothing else. Found on demand, since git may have to be asked.
pub type Reference = Arc<LazyLock<Option<BString>, Box<dyn FnOnce() -> Option<BString> + Send>>>;

/// Finds the content of the file at a path in a tar that git wrote. The caller provides it, because this crate knows no archive.
pub type FindInTar = fn(tar: &[u8], path: &[u8]) -> Result<Option<Vec<u8>>>;

/// The archived tree and its commit, as far as conversions show them.
pub struct Origin {
    /// The commit, if the user named one.
    pub commit: Option<ObjectId>,
    /// The content of that commit.
    pub content: BString,
    /// The tree.
    pub tree: ObjectId,
    /// The ref.
    pub reference: Reference,
    /// How git would archive the commit.
    pub rules: ArchiveRules,
    /// Reads the archives that git writes for files which only git can expand.
    pub find_in_tar: FindInTar,
}
