//! Looks a path up in a tree and its submodules, for the rule that decides about it. Must not read other directories than
//! those above the path.

use std::sync::Arc;

use gix_hash::ObjectId;

use super::rules::{Explainer, Explanation};
use sluice_base::error::Result;
use sluice_core::{
    plan::{StoreId, outer::Entered, view::Sizes},
    request::ArchivedRepository,
};
use sluice_git::{
    objects::reader::Reader,
    tree::{TreeStep, Trees},
};

/// The explanation of `path` in an archive of everything in `repositories`. `None` if the path does not exist.
pub(super) fn explanation(
    repositories: &[ArchivedRepository],
    path: &[u8],
) -> Result<Option<Explanation>> {
    PathSearch::new(repositories, StoreId::default()).explain(path)
}

struct PathSearch<'a> {
    root: ObjectId,
    explainer: Explainer,
    trees: Trees,
    reader: Reader,
    entered: Arc<Entered>,
    repositories: &'a [ArchivedRepository],
}

impl<'a> PathSearch<'a> {
    /// A search in the repository of number `store`, which may lead on to others.
    fn new(repositories: &'a [ArchivedRepository], store: StoreId) -> Self {
        let tree = repositories[store.0].tree.clone();
        Self {
            root: tree.tree,
            explainer: Explainer {
                view: tree.view.with(Sizes::All),
            },
            trees: Trees::new(tree.tree, tree.rules),
            reader: tree.reader,
            entered: tree.entered,
            repositories,
        }
    }

    /// The explanation of `path`; `None` if the path does not exist.
    fn explain(&mut self, path: &[u8]) -> Result<Option<Explanation>> {
        if !self.explainer.may_be_known(path) {
            return Ok(None);
        }
        let mut at = Vec::new();
        self.enter(self.root, &at)?;
        while let Some(found) = self.trees.next(&mut self.reader, &mut at)? {
            let inside = path.strip_prefix(&at[..]);
            let inside = inside.and_then(|path| path.strip_prefix(b"/"));
            match found {
                TreeStep::End => self.explainer.view.leave(),
                TreeStep::Directory(_) if at == path => {
                    return Ok(self.explainer.explain_directory(&at));
                }
                TreeStep::Directory(id) if inside.is_some() => {
                    if let Some(explanation) = self.explainer.explain_above(&at) {
                        return Ok(Some(explanation));
                    }
                    self.enter(id, &at)?;
                }
                TreeStep::Leaf { mode, id } if at == path => {
                    let is_entered = self.entered.contains_key(&at[..]);
                    let reader = &mut self.reader;
                    return self
                        .explainer
                        .explain_leaf(reader, &at, (mode, is_entered), id);
                }
                TreeStep::Leaf { .. } => {
                    let store = self.entered.get(&at[..]);
                    if let Some((inside, store)) = inside.zip(store) {
                        return PathSearch::new(self.repositories, *store).explain(inside);
                    }
                }
                TreeStep::Directory(_) => {}
            }
        }
        Ok(None)
    }

    fn enter(&mut self, id: ObjectId, path: &[u8]) -> Result<()> {
        self.trees.enter(&mut self.reader, id, path)?;
        self.explainer
            .view
            .enter(&mut self.reader, &self.trees, self.root, path)
    }
}
