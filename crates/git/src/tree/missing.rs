//! Finds the missing file that git names before it writes an archive.
//!
//! git reads the whole tree into an index and computes that index's cache tree, which looks every file up
//! (`update_one` in git's `cache-tree.c`). It handles the subdirectories of a directory before the directory's
//! own files, and reports only the first missing file in this order.

use bstr::BString;
use gix_hash::ObjectId;

use super::{Mode, TreeRules, TreeStep, Trees};
use crate::objects::reader::Reader;
use sluice_base::error::Result;

/// A file or link whose object is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// The mode in the tree.
    pub mode: Mode,
    /// The id in the tree.
    pub id: ObjectId,
    /// The path from the root of the tree.
    pub path: BString,
}

/// The first file below the tree `root` whose object is missing, in the order of git's cache tree. Like git, the
/// search ignores replacements.
pub fn first_missing(
    reader: &mut Reader,
    root: ObjectId,
    rules: TreeRules,
) -> Result<Option<MissingFile>> {
    let mut trees = Trees::new(root, rules);
    let mut path = Vec::new();
    trees.enter(reader, root, &path)?;
    // For each directory on the way, the first missing one of its own files. It counts at the end of the directory,
    // because a missing file in a subdirectory takes precedence.
    let mut missing = vec![None];
    while let Some(step) = trees.next(reader, &mut path)? {
        match step {
            TreeStep::Directory(id) => {
                trees.enter(reader, id, &path)?;
                missing.push(None);
            }
            TreeStep::Leaf { mode, id } => {
                let first = missing.last_mut().filter(|first| first.is_none());
                if let Some(first) = first
                    && mode != Mode::Submodule
                    && reader.odb.find(&id).is_none()
                {
                    let path = path.clone().into();
                    *first = Some(MissingFile { mode, id, path });
                }
            }
            TreeStep::End => match missing.pop() {
                Some(None) => {}
                found => return Ok(found.flatten()),
            },
        }
    }
    Ok(None)
}
