//! `--explain`: the rule that decides about one path.

use std::{io::Write, sync::Arc};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use super::rules::Explainer;
use crate::{
    decode::reader::Reader,
    error::{Error, Result, filled, listed},
    pathspec::from_root,
    plan::{submodules::PlannedTree, view::Sizes, walk::Entered},
    request::{Request, Scope, Submodule},
    tree::{TreeStep, Trees},
};

/// Write to `out` the verdict of `request` on `path`, given from the current directory, and the rule that decides.
/// A path that the reader may not know does not exist.
pub fn explain(request: Request, path: &[u8], out: &mut dyn Write) -> Result<()> {
    let given = path.strip_suffix(b"/").unwrap_or(path);
    let Some(path) = from_root(path.as_bstr(), request.blob_policy.naming.below.as_bstr()) else {
        return Err(not_there(given));
    };
    let Scope::Whole(view) = request.scope else {
        return Err(
            Error::fatal("--explain says nothing of what changed").hinted("leave out --base")
        );
    };
    let archived = PlannedTree {
        tree: request.treeish.tree,
        view: *view,
        changes: None,
        rules: request.rules,
        entered: request.submodules.entered,
        reader: request.reader,
    };
    let explanation = Search::new(archived, &request.submodules.all)
        .explain(&path)?
        .ok_or_else(|| not_there(given))?;
    let line = filled("{}: {}\n", &[&listed(&path), &explanation]);
    out.write_all(&line).map_err(|error| Error::write(&error))
}

fn not_there(path: &[u8]) -> Error {
    let template = "pathspec '{}' did not match any files";
    Error::fatal(filled(template, &[&listed(path)]))
}

struct Search<'a> {
    root: ObjectId,
    explainer: Explainer,
    trees: Trees,
    reader: Reader,
    entered: Arc<Entered>,
    submodules: &'a [Submodule],
}

impl<'a> Search<'a> {
    /// A search in `tree`, which may lead on to `submodules`.
    fn new(tree: PlannedTree, submodules: &'a [Submodule]) -> Self {
        Self {
            root: tree.tree,
            explainer: Explainer {
                view: tree.view.with(Sizes::All),
            },
            trees: Trees::new(tree.tree, tree.rules),
            reader: tree.reader,
            entered: tree.entered,
            submodules,
        }
    }

    /// The explanation of `path`; `None` if the path does not exist.
    fn explain(&mut self, path: &[u8]) -> Result<Option<BString>> {
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
                    return Ok(self.explainer.explain_leaf(&mut self.reader, &at, mode, id));
                }
                TreeStep::Leaf { .. } => {
                    let store = self.entered.get(&at[..]);
                    if let Some((inside, store)) = inside.zip(store) {
                        let tree = self.submodules[store.0 - 1].tree.clone();
                        return Search::new(tree, self.submodules).explain(inside);
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
