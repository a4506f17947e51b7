//! A repository of an archive: the one that was asked for, or that of a submodule whose contents are archived.

use bstr::{BStr, BString, ByteSlice};

use crate::plan::PlannedTree;
use sluice_base::error::Result;
use sluice_git::{
    command::CommandContext,
    repository::{Repository, treeish::Treeish},
};

/// A repository, and what is archived of it. Element `n` of a list of them is store `n`, and element 0 is the repository that
/// was asked for.
#[derive(Clone)]
pub struct ArchivedRepository {
    /// The tree.
    pub tree: PlannedTree,
    /// The commit or tree that is archived.
    pub treeish: Treeish,
    /// Where commands run for files of the repository.
    pub command_context: CommandContext,
    /// Files above this many bytes are not converted.
    pub big_file: u64,
    /// Whether the parents of commits are those that their contents name.
    pub has_plain_parents: bool,
}

impl ArchivedRepository {
    /// The path in the archived tree of the submodule that the repository belongs to. Empty for the one that was asked for.
    pub fn path(&self) -> &BStr {
        let mount = self.tree.view.filter.mount.prefix();
        mount.trim_end_with(|c| c == '/').as_bstr()
    }

    /// Whether the content of the submodule called `name` follows in the archive.
    pub fn enters(&self, name: &[u8]) -> bool {
        let path = self.tree.view.naming.submodule_path(name);
        self.tree.entered.contains_key(&path[..])
    }

    /// The number of entries, directories not counted.
    pub(super) fn count(&self) -> Result<u64> {
        let (tree, mut reader) = (&self.tree, self.tree.reader.clone());
        let count = tree.side(tree.tree).count(&mut reader);
        count.map_err(|error| reader.odb.refusal().unwrap_or(error))
    }

    /// Makes a missing object a failure.
    pub(super) fn failing_on_missing(mut self) -> Self {
        self.tree.reader = self.tree.reader.failing_on_missing();
        self
    }
}

/// A tree with its submodules, as the options ask to see them.
pub(super) struct ResolvedTree {
    pub(super) repositories: Vec<ArchivedRepository>,
    /// Whether each pathspec matches something.
    pub(super) matched: Result<()>,
}

/// As git does, which changes to the top of the work tree if it is elsewhere in it.
pub(super) fn command_context(repository: &Repository, below: BString) -> CommandContext {
    CommandContext {
        directory: (!below.is_empty())
            .then(|| repository.work_tree.clone())
            .flatten(),
        prefix: below,
        location: repository.location.clone(),
    }
}
