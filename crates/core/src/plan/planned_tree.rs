//! A tree of the plan: that of the archived commit, or that of a submodule, which follows the entry of its submodule.

use std::sync::Arc;

use gix_hash::ObjectId;

use super::{
    delta::{Changes, DeltaWalk, Side},
    extra::Extra,
    outer::{Entered, Outer},
    planner::TreeSource,
    view::{Sizes, View},
    walk::Walk,
};
use sluice_git::{objects::reader::Reader, tree::TreeRules};

/// A tree, ready to be walked.
#[derive(Clone)]
pub struct PlannedTree {
    /// The tree.
    pub tree: ObjectId,
    /// The entries that are archived, with their names in the archive.
    pub view: View,
    /// The changes, if nothing else is archived.
    pub changes: Option<Box<Changes>>,
    /// How trees are read.
    pub rules: TreeRules,
    /// The submodules in this tree.
    pub entered: Arc<Entered>,
    /// Reads the objects of the repository.
    pub reader: Reader,
}

impl PlannedTree {
    /// Chooses the `sizes` that are looked up.
    pub fn with(self, sizes: Sizes) -> Self {
        let changes = self.changes.map(|changes| Box::new(changes.with(sizes)));
        Self {
            view: self.view.with(sizes),
            changes,
            ..self
        }
    }

    /// The same tree, with the entries that are left out as omitted ones.
    pub fn with_all(self) -> Self {
        Self {
            view: self.view.with_all(),
            ..self
        }
    }

    /// One side of a comparison: `tree` as this tree is seen.
    pub fn side(&self, tree: ObjectId) -> Side {
        let side = Side::new(tree, self.view.clone(), self.rules);
        side.entering(Arc::clone(&self.entered))
    }

    /// A walk over the tree, or over its changes, with the `extras` after them; and what reads the objects. `None` are the extras
    /// of a submodule, which has no entry for the root of its tree.
    pub fn into_source(self, extras: Option<Arc<[Extra]>>) -> (TreeSource, Reader) {
        let outer = Outer::new(extras, self.entered);
        let source = match self.changes {
            None => Walk::new(self.tree, self.view, self.rules, outer).into(),
            Some(changes) => DeltaWalk::new(*changes, outer).into(),
        };
        (source, self.reader)
    }
}
