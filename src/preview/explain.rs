//! Why one path is sent or not: the rule that decides, and where it comes from.

use std::io::Write;

use gix::{ObjectId, bstr::ByteSlice};

use crate::{
    decode::reader::Reader,
    error::{Error, Result, sanitised},
    pathspec::from_root,
    plan::view::{Sizes, View},
    request::{Request, Scope},
    tree::{Found, Trees},
};

/// Say to `out` what becomes of `path`, given in the current directory, in `request`, and which rule
/// decides. What may not be known does not exist.
pub fn explain(request: Request, path: &[u8], out: &mut dyn Write) -> Result<()> {
    let shown = sanitised(path.strip_suffix(b"/").unwrap_or(path));
    let Some(path) = from_root(path.as_bstr(), request.terms.naming.below.as_bstr()) else {
        return Err(not_there(&shown));
    };
    let Scope::Whole(view) = request.scope else {
        return Err(
            Error::fatal("--explain says nothing of what changed").hinted("leave out --base")
        );
    };
    let mut search = Search {
        root: request.treeish.tree,
        view: view.with(Sizes::All),
        trees: Trees::new(request.treeish.tree, request.rules),
        reader: request.reader,
    };
    let ruling = search.ruling(&path)?;
    let ruling = ruling.ok_or_else(|| not_there(&shown))?;
    let shown = sanitised(&path);
    writeln!(out, "{shown}: {ruling}").map_err(|error| Error::write(&error))
}

fn not_there(shown: &str) -> Error {
    Error::fatal(format!("pathspec '{shown}' did not match any files"))
}

struct Search {
    root: ObjectId,
    view: View,
    trees: Trees,
    reader: Reader,
}

impl Search {
    /// What is said of `path`; nothing if it is not there.
    fn ruling(&mut self, path: &[u8]) -> Result<Option<String>> {
        if !self.view.may_be_known(path) {
            return Ok(None);
        }
        let mut at = Vec::new();
        self.enter(self.root, &at)?;
        while let Some(found) = self.trees.next(&mut self.reader, &mut at)? {
            match found {
                Found::End => self.view.leave(),
                Found::Directory(_) if at == path => {
                    return Ok(self.view.rule_on_directory(&at));
                }
                Found::Directory(id) if path.starts_with(&at) && path[at.len()] == b'/' => {
                    if let Some(ruling) = self.view.rule_above(&at) {
                        return Ok(Some(ruling));
                    }
                    self.enter(id, &at)?;
                }
                Found::Leaf { mode, id } if at == path => {
                    return Ok(self.view.rule_on_leaf(&mut self.reader, &at, mode, id));
                }
                Found::Directory(_) | Found::Leaf { .. } => {}
            }
        }
        Ok(None)
    }

    fn enter(&mut self, id: ObjectId, path: &[u8]) -> Result<()> {
        self.trees.enter(&mut self.reader, id, path.len())?;
        self.view
            .enter(&mut self.reader, &self.trees, self.root, path)
    }
}
