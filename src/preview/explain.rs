//! `--explain`: the rule that decides about one path.

use std::io::Write;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use super::rules::Explainer;
use crate::{
    decode::reader::Reader,
    error::{Error, Result, filled, listed},
    pathspec::from_root,
    plan::view::Sizes,
    request::{Request, Scope},
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
    let mut search = Search {
        root: request.treeish.tree,
        explainer: Explainer {
            view: view.with(Sizes::All),
        },
        trees: Trees::new(request.treeish.tree, request.rules),
        reader: request.reader,
    };
    let explanation = search.explain(&path)?.ok_or_else(|| not_there(given))?;
    let line = filled("{}: {}\n", &[&listed(&path), &explanation]);
    out.write_all(&line).map_err(|error| Error::write(&error))
}

fn not_there(path: &[u8]) -> Error {
    let template = "pathspec '{}' did not match any files";
    Error::fatal(filled(template, &[&listed(path)]))
}

struct Search {
    root: ObjectId,
    explainer: Explainer,
    trees: Trees,
    reader: Reader,
}

impl Search {
    /// The explanation of `path`; `None` if the path does not exist.
    fn explain(&mut self, path: &[u8]) -> Result<Option<BString>> {
        if !self.explainer.may_be_known(path) {
            return Ok(None);
        }
        let mut at = Vec::new();
        self.enter(self.root, &at)?;
        while let Some(found) = self.trees.next(&mut self.reader, &mut at)? {
            match found {
                TreeStep::End => self.explainer.view.leave(),
                TreeStep::Directory(_) if at == path => {
                    return Ok(self.explainer.explain_directory(&at));
                }
                TreeStep::Directory(id) if path.starts_with(&at) && path[at.len()] == b'/' => {
                    if let Some(explanation) = self.explainer.explain_above(&at) {
                        return Ok(Some(explanation));
                    }
                    self.enter(id, &at)?;
                }
                TreeStep::Leaf { mode, id } if at == path => {
                    return Ok(self.explainer.explain_leaf(&mut self.reader, &at, mode, id));
                }
                TreeStep::Directory(_) | TreeStep::Leaf { .. } => {}
            }
        }
        Ok(None)
    }

    fn enter(&mut self, id: ObjectId, path: &[u8]) -> Result<()> {
        self.trees.enter(&mut self.reader, id, path.len())?;
        self.explainer
            .view
            .enter(&mut self.reader, &self.trees, self.root, path)
    }
}
