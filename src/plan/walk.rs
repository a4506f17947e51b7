//! Walks the archived tree and turns every selected path into an entry.
//!
//! A directory's entry is written just before the first selected entry below, so a directory without selected
//! entries never appears. The walk reads a directory's attribute file, if there is one, on entering.

use std::{collections::HashMap, sync::Arc};

use gix::{ObjectId, bstr::BString};

use super::{
    builder::{Item, WindowBuilder},
    extra::Extra,
    view::{DirectoryVerdict, Leaf, View},
    window::StoreId,
};
use crate::{
    base::error::Result,
    filter::{Disposition, OmissionReason},
    git::{
        objects::reader::Reader,
        tree::{Mode, TreeRules, TreeStep, Trees},
    },
};

/// The submodules of one tree that are archived with their contents, by path in the tree.
pub type Entered = HashMap<BString, StoreId>;

/// The state of the walk.
pub struct Walk {
    tree: ObjectId,
    view: View,
    trees: Trees,
    /// The current path from the root of the tree.
    path: Vec<u8>,
    begun: bool,
    extras: Arc<[Extra]>,
    /// The number of extra files already appended.
    added: usize,
    /// The entry at the current path, while the directories above are appended.
    pending: Option<Pending>,
    /// The number of directories entered, counting only those that the reader may know.
    entered: u64,
    /// The number of innermost directories without any entry so far that the reader may know.
    unknown: u64,
    redacted: bool,
    /// Whether the entry of a submodule stands for the root of this tree.
    is_of_submodule: bool,
    /// The submodules that are archived with their contents.
    entered_submodules: Arc<Entered>,
    /// The submodule whose entry is appended next, or was appended last.
    submodule: Option<StoreId>,
}

/// A file, link or submodule that waits for the entries of the directories above.
struct Pending {
    mode: Mode,
    id: ObjectId,
    /// The verdict on the entry; `None` if only the directories above are in the archive.
    leaf: Option<Leaf>,
}

impl Walk {
    /// Create a walk over `tree` through `view`, followed by the `extras`.
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
            is_of_submodule: false,
            entered_submodules: Arc::default(),
            submodule: None,
        }
    }

    /// Leaves out the entry for the root of the tree.
    pub fn of_submodule(self) -> Self {
        Self {
            is_of_submodule: true,
            ..self
        }
    }

    /// Reports where the content of the submodules in `entered` follows.
    pub fn entering(self, entered: Arc<Entered>) -> Self {
        Self {
            entered_submodules: entered,
            ..self
        }
    }

    /// The submodule whose entry was appended last, if its content is to follow. Told once.
    pub fn submodule(&mut self) -> Option<StoreId> {
        match self.pending {
            // The entry is appended after the directories above.
            Some(_) => None,
            None => self.submodule.take(),
        }
    }

    /// The number of directories read, counting only those that the reader may know.
    pub fn directories(&self) -> u64 {
        self.entered
    }

    /// Split off the later part of the walk. `None` if the walk cannot be divided.
    pub fn fork(&mut self) -> Option<Self> {
        // Access rules and complaints about attribute files depend on the order of the walk.
        if self.redacted || !self.view.is_silent() {
            return None;
        }
        let trees = &mut self.trees;
        let middle = |number| Some((number, trees.middle(number)?));
        let (number, cut) = (0..trees.depth()).find_map(middle)?;
        if !trees.is_written(number) {
            return None; // Both walks would write the directory's entry.
        }
        let mut view = self.view.clone();
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
            is_of_submodule: self.is_of_submodule,
            entered_submodules: Arc::clone(&self.entered_submodules),
            submodule: None,
        })
    }

    /// Take one step, which appends at most one entry to `builder`: the names of many directories together
    /// could exceed the memory. `false` at the end.
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
                DirectoryVerdict::Entered => self.enter(reader, id)?,
                DirectoryVerdict::Omitted(reason) => self.omit_directory(builder, id, reason),
                DirectoryVerdict::Hidden => {}
            },
            Some(TreeStep::Leaf { mode, id }) => {
                self.submodule = match mode {
                    Mode::Submodule => self.entered_submodules.get(&self.path[..]).copied(),
                    _ => None,
                };
                // Where only files in a submodule are selected, the submodule is above them.
                if self.submodule.is_some() || self.view.admits(&self.path, mode)? {
                    self.reveal();
                    self.leaf(reader, builder, mode, id);
                }
            }
        }
        Ok(true)
    }

    /// A prefix that ends in a slash is an entry of its own, with the tree's id.
    fn prefix_directory(&self, builder: &mut WindowBuilder) {
        let name = self.view.naming.prefix_directory();
        if let Some(name) = name.filter(|_| !self.is_of_submodule) {
            builder.push(Item::new(&name, Mode::Directory, self.tree));
        }
    }

    /// Append the next extra file; `false` if there is none.
    fn extra(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        let Some(extra) = self.extras.get(self.added) else {
            return Ok(false);
        };
        let path = self.view.naming.relative_path(&extra.name);
        let text = path.map(|path| self.view.text_of(reader, self.tree, path));
        let text = text.transpose()?.flatten();
        builder.push_extra(self.tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        Ok(true)
    }

    fn enter(&mut self, reader: &mut Reader, id: ObjectId) -> Result<()> {
        self.trees.enter(reader, id, &self.path)?;
        self.unknown += 1;
        if !self.redacted {
            self.reveal();
        }
        self.view.enter(reader, &self.trees, self.tree, &self.path)
    }

    /// Count the directories above an entry that the reader may know: the reader may know them too.
    fn reveal(&mut self) {
        self.entered += std::mem::take(&mut self.unknown);
    }

    fn leaf(&mut self, reader: &mut Reader, builder: &mut WindowBuilder, mode: Mode, id: ObjectId) {
        builder.say(self.view.note());
        let is_entered = self.submodule.is_some();
        let leaf = self.view.leaf(reader, &self.path, (mode, is_entered), id);
        if self.view.brings_directories(leaf.as_ref()) {
            self.append_next(builder, Pending { mode, id, leaf });
        } else if let Some(leaf) = leaf {
            self.append(builder, mode, id, leaf);
        }
    }

    /// Append the next unwritten directory above the `pending` entry, or else the entry.
    fn append_next(&mut self, builder: &mut WindowBuilder, pending: Pending) {
        let below = self.view.naming.below.len();
        let directory = self.trees.unwritten().find(|(_, len)| *len > below);
        match directory {
            Some((id, len)) => {
                let name = self.view.naming.name(&self.path[..len], Mode::Directory);
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
        let name = self.view.naming.name(&self.path, mode);
        let item = Item {
            kind: leaf.kind,
            disposition: leaf.disposition,
            size: leaf.size,
            treatment: leaf.treatment,
            kept: leaf.kept,
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
        if self.path.len() < self.view.naming.below.len() {
            return;
        }
        let name = self.view.naming.name(&self.path, Mode::Directory);
        let item = Item {
            disposition: Disposition::Omitted(reason),
            ..Item::new(&name, Mode::Directory, id)
        };
        builder.push(item);
    }
}
