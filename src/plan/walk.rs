//! The walk over the archived tree: what it finds and the selection admits becomes an entry.
//!
//! A directory's entry is written just before the first entry below it that was asked for, so that
//! directories in which nothing was asked for never appear. Attribute files are read on entering a directory, and
//! only if they are there.

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    hash::Kind as HashKind,
};

use super::{
    Draft,
    select::Selection,
    trees::{Found, Rules, Trees, file_at},
};
use crate::{
    buffer::Buffer, convert::Treatment, decode::reader::Reader, emit::Kind, error::Result,
};

/// Where the walk is.
pub struct Walk {
    tree: ObjectId,
    hash: HashKind,
    /// Put in front of every name.
    prefix: BString,
    selection: Selection,
    trees: Trees,
    /// The current path from the root of the tree.
    path: Vec<u8>,
    begun: bool,
}

impl Walk {
    /// Walk `tree`, with `prefix` in front of every name.
    pub fn new(tree: ObjectId, prefix: BString, selection: Selection, rules: Rules) -> Self {
        let trees = Trees::new(tree, rules);
        Self {
            tree,
            hash: rules.hash,
            prefix,
            selection,
            trees,
            path: Vec::new(),
            begun: false,
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
            None => return Ok(false),
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

    fn enter(&mut self, reader: &mut Reader, id: ObjectId) -> Result<()> {
        self.trees.enter(reader, id, self.path.len())?;
        let file = self
            .trees
            .attribute_file()
            .and_then(|id| content(reader, id));
        self.selection.attributes.enter(&self.path, file.as_deref());
        self.enter_relative(reader);
        Ok(())
    }

    /// In a sub-directory of the work tree, git looks conversions up by the path from there, and in
    /// the attribute files that this path leads to from the root: not its best idea, but its bytes.
    fn enter_relative(&mut self, reader: &mut Reader) {
        let Selection {
            below,
            relative: Some(attributes),
            ..
        } = &mut self.selection
        else {
            return;
        };
        let inside = self.path.len() + 1 >= below.len() && !self.path.is_empty();
        if !inside {
            return attributes.skip();
        }
        let path = self.path.get(below.len()..).unwrap_or_default();
        let file = file_at(reader, self.tree, self.hash, path, b".gitattributes")
            .and_then(|id| content(reader, id));
        attributes.enter(path, file.as_deref());
    }

    fn leaf(
        &mut self,
        reader: &mut Reader,
        draft: &mut Draft,
        kind: Kind,
        id: ObjectId,
    ) -> Result<()> {
        let below = self.selection.below.len();
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
        if let Some(treatment) = self.selection.treatment(&self.path, kind)? {
            let slash: &[u8] = if kind == Kind::Directory { b"/" } else { b"" };
            let name = [&self.prefix[..], &self.path[below..], slash];
            draft.push(&mut reader.odb, &name, kind, id, treatment);
        }
        Ok(())
    }
}

/// As in git, a file that cannot be read has no attributes.
fn content(reader: &mut Reader, id: ObjectId) -> Option<Buffer> {
    let mut content = Buffer::default();
    reader.read(&id, &mut content).ok()??;
    Some(content)
}
