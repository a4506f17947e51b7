//! The submodules of an archive: each is found, opened and checked before the first byte.
//!
//! A submodule is selected by its path in the archived tree, and read as if it were archived alone: with its own
//! attributes, ignore files and configuration. Nothing is cloned or changed. What a submodule lacks that is a partial clone is
//! noted, to be fetched.

mod changes;
mod place;
mod survey;

use std::sync::Arc;

use gix::bstr::{BStr, ByteSlice};

use crate::{
    base::error::Result,
    git::{command::CommandContext, repository::treeish::Treeish},
    plan::{delta::Side, submodules::PlannedTree, view::View, walk::Entered},
};

/// The submodules whose contents are archived.
#[derive(Clone, Default)]
pub struct Submodules {
    /// Those in the archived tree.
    pub entered: Arc<Entered>,
    /// All of them, behind the store of number 0.
    pub all: Vec<Submodule>,
    /// Of a delta: all submodules of the target, with and without changes. Empty otherwise.
    pub(super) of_target: Vec<Submodule>,
}

impl Submodules {
    /// Makes a missing object of a submodule a failure.
    pub(super) fn failing_on_missing(mut self) -> Self {
        for submodule in &mut self.all {
            let reader = &mut submodule.tree.reader;
            *reader = reader.clone().failing_on_missing();
        }
        self
    }
}

/// A whole tree with its submodules, one of the two that a delta compares.
#[derive(Clone)]
pub struct ComparedTree {
    /// The tree.
    pub tree: PlannedTree,
    /// All submodules whose contents are archived, behind the store of number 0.
    pub submodules: Vec<Submodule>,
}

/// A tree as it is seen, with its submodules.
pub(super) struct ResolvedTree {
    pub(super) view: View,
    pub(super) submodules: Submodules,
    /// Whether each pathspec matches something.
    pub(super) matched: Result<()>,
}

/// A submodule whose content is archived.
#[derive(Clone)]
pub struct Submodule {
    /// The tree of the commit.
    pub tree: PlannedTree,
    /// The commit.
    pub treeish: Treeish,
    /// Where commands run for files of the submodule.
    pub command_context: CommandContext,
    /// Files above this many bytes are not converted.
    pub big_file: u64,
}

impl Submodule {
    /// The path in the archived tree.
    pub fn path(&self) -> &BStr {
        let mount = self.tree.view.filter.mount.prefix();
        mount.trim_end_with(|c| c == '/').as_bstr()
    }

    /// The number of entries, directories not counted.
    pub(super) fn count(&self) -> Result<u64> {
        let PlannedTree {
            tree,
            view,
            rules,
            entered,
            reader,
            changes: _,
        } = &self.tree;
        let side = Side::new(*tree, view.clone(), *rules);
        side.entering(Arc::clone(entered))
            .count(&mut reader.clone())
    }
}
