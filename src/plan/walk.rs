//! The walk over the archived tree: what it finds and the selection admits becomes an entry.
//!
//! A directory's entry is written just before the first entry below it that was asked for, so that
//! directories in which nothing was asked for never appear. Attribute files are read on entering a directory, and
//! only if they are there.

use std::sync::Arc;

use gix::{ObjectId, bstr::ByteSlice};

use super::{
    builder::{Item, WindowBuilder},
    extra::Extra,
    view::{Directory, Leaf, View},
};
use crate::{
    decode::reader::Reader,
    error::Result,
    filter::{Disposition, OmissionReason},
    tree::{Mode, TreeRules, TreeStep, Trees},
};

/// Where the walk is.
pub struct Walk {
    tree: ObjectId,
    view: View,
    trees: Trees,
    /// The current path from the root of the tree.
    path: Vec<u8>,
    begun: bool,
    extras: Arc<[Extra]>,
    /// Extra files that had their turn.
    added: usize,
    /// A file, link or submodule at the current path whose directories come first.
    pending: Option<Pending>,
    /// Directories that were entered, as far as they may be known.
    entered: u64,
    /// The innermost directories in which nothing was found yet that may be known.
    unknown: u64,
    redacted: bool,
}

/// An entry that waits for the entries of the directories above it.
struct Pending {
    mode: Mode,
    id: ObjectId,
    /// What it is to the reader; nothing if only its directories are in the archive.
    leaf: Option<Leaf>,
}

impl Walk {
    /// Walk `tree` as `view` shows it, and then the `extras`.
    pub fn new(tree: ObjectId, view: View, rules: TreeRules, extras: Arc<[Extra]>) -> Self {
        Self {
            tree,
            view,
            trees: Trees::new(tree, rules),
            path: Vec::new(),
            begun: false,
            extras,
            added: 0,
            pending: None,
            entered: 0,
            unknown: 0,
            redacted: rules.redacted,
        }
    }

    /// How many directories were read; not those of which nothing may be known.
    pub fn directories(&self) -> u64 {
        self.entered
    }

    /// Leave the later part of the walk to another.
    pub fn fork(&mut self) -> Option<Self> {
        // Whether a directory may be known of, or was complained of, is found out in order.
        if self.redacted || !self.view.is_silent() {
            return None;
        }
        let trees = &mut self.trees;
        let middle = |number| Some((number, trees.middle(number)?));
        let (number, cut) = (0..trees.depth()).find_map(middle)?;
        if !trees.is_written(number) {
            return None; // Whether it will be is for one to find out.
        }
        let mut view = self.view.another();
        (number + 1..trees.depth()).for_each(|_| view.leave());
        let (trees, path_len) = trees.fork(number, cut);
        Some(Self {
            tree: self.tree,
            view,
            trees,
            path: self.path[..path_len].to_vec(),
            begun: true,
            extras: std::mem::take(&mut self.extras),
            added: 0,
            pending: None,
            entered: 0,
            unknown: 0,
            redacted: false,
        })
    }

    /// Go one step further: append at most one entry to `builder`, since the names of many directories may
    /// take more memory than there is; `false` at the end.
    pub fn step(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        if let Some(pending) = self.pending.take() {
            self.append_next(builder, pending);
            return Ok(true);
        }
        if !self.begun {
            self.begun = true;
            self.prefix_directory(builder);
            self.enter(reader, self.tree)?;
        }
        match self.trees.next(reader, &mut self.path)? {
            None => {
                builder.say(self.view.note());
                return self.extra(reader, builder);
            }
            Some(TreeStep::End) => {
                self.unknown = self.unknown.saturating_sub(1);
                self.view.leave();
            }
            Some(TreeStep::Directory(id)) => match self.view.directory(&self.path) {
                Directory::Entered => self.enter(reader, id)?,
                Directory::Omitted(reason) => self.omit_directory(builder, id, reason),
                Directory::Hidden => {}
            },
            Some(TreeStep::Leaf { mode, id }) => {
                if self.view.admits(&self.path, mode) {
                    self.reveal();
                    self.leaf(reader, builder, mode, id);
                }
            }
        }
        Ok(true)
    }

    /// A prefix that ends in a slash is an entry of its own, with the tree's id.
    fn prefix_directory(&self, builder: &mut WindowBuilder) {
        let prefix = &self.view.prefix;
        if prefix.ends_with(b"/") {
            let name = [prefix.trim_end_with(|byte| byte == '/'), b"/"];
            builder.push(Item::new(&name, Mode::Directory, self.tree));
        }
    }

    /// Append the next extra file; `false` if there is none.
    fn extra(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        let Some(extra) = self.extras.get(self.added) else {
            return Ok(false);
        };
        // As in git, whatever stands where the prefix would.
        let path = extra.name.get(self.view.prefix.len()..);
        let text = path.map(|path| self.view.text_of(reader, self.tree, path));
        let text = text.transpose()?.flatten();
        builder.push_extra(self.tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        Ok(true)
    }

    fn enter(&mut self, reader: &mut Reader, id: ObjectId) -> Result<()> {
        self.trees.enter(reader, id, self.path.len())?;
        self.unknown += 1;
        if !self.redacted {
            self.reveal();
        }
        self.view.enter(reader, &self.trees, self.tree, &self.path)
    }

    /// There is something that may be known, so all directories above it may be.
    fn reveal(&mut self) {
        self.entered += std::mem::take(&mut self.unknown);
    }

    fn leaf(&mut self, reader: &mut Reader, builder: &mut WindowBuilder, mode: Mode, id: ObjectId) {
        builder.say(self.view.note());
        let leaf = self.view.leaf(reader, &self.path, mode, id);
        if self.view.brings_directories(leaf.as_ref()) {
            self.append_next(builder, Pending { mode, id, leaf });
        } else if let Some(leaf) = leaf {
            self.append(builder, mode, id, leaf);
        }
    }

    /// Append the next directory above the `pending` entry that is not in the archive yet, or the entry if all
    /// directories are.
    fn append_next(&mut self, builder: &mut WindowBuilder, pending: Pending) {
        let below = self.view.below();
        let directory = self.trees.unwritten().find(|(_, len)| *len > below);
        match directory {
            Some((id, len)) => {
                let name = self.view.name(&self.path[..len], Mode::Directory);
                builder.push(Item::new(&name, Mode::Directory, id));
                self.pending = Some(pending);
            }
            None => {
                let Pending { mode, id, leaf } = pending;
                if let Some(leaf) = leaf {
                    self.append(builder, mode, id, leaf);
                }
            }
        }
    }

    fn append(&mut self, builder: &mut WindowBuilder, mode: Mode, id: ObjectId, leaf: Leaf) {
        builder.say(self.view.note());
        let name = self.view.name(&self.path, mode);
        let item = Item {
            kind: leaf.kind,
            disposition: leaf.disposition,
            size: leaf.size,
            treatment: leaf.treatment,
            ..Item::new(&name, mode, id)
        };
        builder.push(item);
    }

    fn omit_directory(
        &mut self,
        builder: &mut WindowBuilder,
        id: ObjectId,
        reason: OmissionReason,
    ) {
        self.reveal();
        if self.path.len() < self.view.below() {
            return;
        }
        let name = self.view.name(&self.path, Mode::Directory);
        let item = Item {
            disposition: Disposition::Omitted(reason),
            ..Item::new(&name, Mode::Directory, id)
        };
        builder.push(item);
    }
}
