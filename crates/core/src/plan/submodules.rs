//! Finds the submodules that a view reaches in a tree.

use bstr::BString;
use gix_hash::ObjectId;

use super::view::{DirectoryVerdict, View};
use sluice_base::error::Result;
use sluice_git::{
    objects::reader::Reader,
    tree::{Mode, TreeRules, TreeStep, Trees},
};

/// A submodule that the archive may hold something of.
pub struct Gitlink {
    /// The path in the tree.
    pub path: BString,
    /// The commit.
    pub commit: ObjectId,
    /// Whether the submodule is selected as a whole.
    pub is_admitted: bool,
}

/// The submodules that a view reaches in a tree.
#[derive(Default)]
pub struct Gitlinks {
    /// In the order of the archive.
    pub all: Vec<Gitlink>,
    /// Whether the view shows any other entry.
    pub has_others: bool,
}

impl Gitlinks {
    /// Finds those in `tree` that `view` reaches.
    pub fn find(
        tree: ObjectId,
        mut view: View,
        rules: TreeRules,
        reader: &mut Reader,
    ) -> Result<Self> {
        let mut found = Self::default();
        let (mut trees, mut path) = (Trees::new(tree, rules), Vec::new());
        trees.enter(reader, tree, b"")?;
        view.enter(reader, &trees, tree, &path)?;
        while let Some(step) = trees.next(reader, &mut path)? {
            match step {
                TreeStep::End => view.leave(),
                TreeStep::Directory(id) => {
                    if matches!(view.directory(&path), DirectoryVerdict::Entered) {
                        trees.enter(reader, id, &path)?;
                        view.enter(reader, &trees, tree, &path)?;
                    }
                }
                TreeStep::Leaf { mode, id } if mode == Mode::Submodule => {
                    if matches!(view.directory(&path), DirectoryVerdict::Entered) {
                        found.all.push(Gitlink {
                            path: path.as_slice().into(),
                            commit: id,
                            is_admitted: view.admits(&path, mode)?,
                        });
                    }
                }
                TreeStep::Leaf { mode, .. } => {
                    found.has_others = found.has_others || view.admits(&path, mode)?;
                }
            }
        }
        Ok(found)
    }
}
