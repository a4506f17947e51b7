//! The walk over the archived tree: what it finds and the selection admits becomes an entry.
//!
//! A directory's entry is written just before the first entry below it that was asked for, so that
//! directories in which nothing was asked for never appear. Attribute files are read on entering a directory, and
//! only if they are there.

use std::sync::Arc;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use super::{
    Draft,
    extra::Extra,
    select::Selection,
    trees::{Found, Rules, Trees},
};
use crate::{convert::Treatment, decode::reader::Reader, emit::Kind, error::Result};

/// Where the walk is.
pub struct Walk {
    tree: ObjectId,
    /// Put in front of every name.
    prefix: BString,
    selection: Selection,
    trees: Trees,
    /// The current path from the root of the tree.
    path: Vec<u8>,
    begun: bool,
    extras: Arc<[Extra]>,
    /// Extra files that had their turn.
    added: usize,
}

impl Walk {
    /// Walk `tree`, with `prefix` in front of every name, and then the `extras`.
    pub fn new(
        tree: ObjectId,
        prefix: BString,
        selection: Selection,
        rules: Rules,
        extras: Arc<[Extra]>,
    ) -> Self {
        let trees = Trees::new(tree, rules);
        Self {
            tree,
            prefix,
            selection,
            trees,
            path: Vec::new(),
            begun: false,
            extras,
            added: 0,
        }
    }

    /// Look at one more tree entry, and append to `draft` what it brings to the archive; `false` at
    /// the end.
    pub fn step(&mut self, reader: &mut Reader, draft: &mut Draft) -> Result<bool> {
        if !self.begun {
            self.begun = true;
            self.prefix_directory(reader, draft);
            self.enter(reader, self.tree)?;
        }
        match self.trees.next(&mut self.path)? {
            None => {
                draft.say(self.selection.note());
                return Ok(self.extra(reader, draft));
            }
            Some(Found::End) => self.selection.leave(),
            Some(Found::Directory(id)) => {
                if self.selection.directory(&self.path) {
                    self.enter(reader, id)?;
                }
            }
            Some(Found::Leaf { kind, id }) => {
                if self.selection.admits(&self.path, kind) {
                    self.leaf(reader, draft, kind, id)?;
                }
            }
        }
        Ok(true)
    }

    /// A prefix that ends in a slash is an entry of its own, with the tree's id.
    fn prefix_directory(&self, reader: &mut Reader, draft: &mut Draft) {
        if self.prefix.ends_with(b"/") {
            let name = [self.prefix.trim_end_with(|byte| byte == '/'), b"/"];
            draft.push(
                &mut reader.odb,
                &name,
                Kind::Directory,
                self.tree,
                Treatment::default(),
            );
        }
    }

    /// Append the next extra file; `false` if there is none.
    fn extra(&mut self, reader: &mut Reader, draft: &mut Draft) -> bool {
        let Some(extra) = self.extras.get(self.added) else {
            return false;
        };
        // As in git, whatever stands where the prefix would.
        let path = extra.name.get(self.prefix.len()..);
        let text = path.and_then(|path| self.selection.text_of(reader, self.tree, path));
        draft.push_extra(self.tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        true
    }

    fn enter(&mut self, reader: &mut Reader, id: ObjectId) -> Result<()> {
        self.trees.enter(reader, id, self.path.len())?;
        self.selection
            .enter(reader, &self.trees, self.tree, &self.path);
        Ok(())
    }

    fn leaf(
        &mut self,
        reader: &mut Reader,
        draft: &mut Draft,
        kind: Kind,
        id: ObjectId,
    ) -> Result<()> {
        let below = self.selection.below.len();
        draft.say(self.selection.note());
        for (id, len) in self.trees.unwritten() {
            if len > below {
                let name = [&self.prefix[..], &self.path[below..len], b"/"];
                draft.push(
                    &mut reader.odb,
                    &name,
                    Kind::Directory,
                    id,
                    Treatment::default(),
                );
            }
        }
        // Only now, as in git: an entry that is ignored still brings its directories.
        if let Some(treatment) = self.selection.treatment(&self.path, kind) {
            draft.say(self.selection.note());
            let slash: &[u8] = if kind == Kind::Directory { b"/" } else { b"" };
            let name = [&self.prefix[..], &self.path[below..], slash];
            draft.push(&mut reader.odb, &name, kind, id, treatment);
        }
        Ok(())
    }
}
