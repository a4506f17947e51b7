//! Walks the archived tree and turns every selected path into an entry.
//!
//! A directory's entry is written just before the first selected entry below, so a directory without selected
//! entries never appears. The walk reads a directory's attribute file, if there is one, on entering.

use gix_hash::ObjectId;

use super::{
    builder::{Item, WindowBuilder},
    outer::Outer,
    view::{DirectoryVerdict, Leaf, View},
    window::StoreId,
};
use crate::filter::{Disposition, OmissionReason};
use sluice_base::error::Result;
use sluice_git::{
    objects::reader::Reader,
    tree::{Mode, TreeRules, TreeStep, Trees},
};

/// The state of the walk.
pub struct Walk {
    tree: ObjectId,
    view: View,
    trees: Trees,
    /// The current path from the root of the tree.
    path: Vec<u8>,
    begun: bool,
    outer: Outer,
    /// The entry at the current path, while the directories above are appended.
    pending: Option<Pending>,
    /// The number of directories entered, counting only those that the reader may know.
    entered: u64,
    /// The number of innermost directories without any entry so far that the reader may know.
    unknown: u64,
    redacted: bool,
}

/// A file, link or submodule that waits for the entries of the directories above.
struct Pending {
    mode: Mode,
    id: ObjectId,
    /// The verdict on the entry; `None` if only the directories above are in the archive.
    leaf: Option<Leaf>,
}

impl Walk {
    /// Create a walk over `tree` through `view`.
    pub fn new(tree: ObjectId, view: View, rules: TreeRules, outer: Outer) -> Self {
        Self {
            tree,
            view,
            trees: Trees::new(tree, rules),
            path: Vec::new(),
            begun: false,
            outer,
            pending: None,
            entered: 0,
            unknown: 0,
            redacted: rules.redacted,
        }
    }

    /// The submodule whose entry was appended last, if its content is to follow. Returned once.
    pub fn submodule(&mut self) -> Option<StoreId> {
        match self.pending {
            // The entry is appended after the directories above.
            Some(_) => None,
            None => self.outer.take_submodule(),
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
            outer: self.outer.fork(),
            pending: None,
            entered: 0,
            unknown: 0,
            redacted: false,
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
            self.outer.prefix(builder, &self.view, self.tree);
            self.enter(reader, self.tree)?;
        }
        match self.trees.next(reader, &mut self.path)? {
            None => {
                builder.say(self.view.note());
                let (view, tree) = (&mut self.view, self.tree);
                return self.outer.extra(reader, builder, view, tree);
            }
            Some(TreeStep::End) => {
                self.unknown = self.unknown.saturating_sub(1);
                self.view.leave();
            }
            Some(TreeStep::Directory(id)) => match self.view.directory(&self.path) {
                DirectoryVerdict::Entered => self.enter(reader, id)?,
                DirectoryVerdict::Omitted(reason) => {
                    self.omit_directory(builder, id, reason);
                    if self.view.has_all() {
                        self.enter(reader, id)?;
                    }
                }
                DirectoryVerdict::Hidden => {}
            },
            Some(TreeStep::Leaf { mode, id }) => {
                let is_submodule = mode == Mode::Submodule;
                let is_entered = self.outer.reach(is_submodule.then_some(&self.path[..]));
                // Where only files in a submodule are selected, the submodule is above them.
                if is_entered || self.view.admits(&self.path, mode)? {
                    self.reveal();
                    builder.say(self.view.note());
                    let leaf = self.view.leaf(reader, &self.path, (mode, is_entered), id);
                    self.leaf(builder, Pending { mode, id, leaf });
                }
            }
        }
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

    fn leaf(&mut self, builder: &mut WindowBuilder, found: Pending) {
        if self.view.brings_directories(found.leaf.as_ref()) {
            self.append_next(builder, found);
        } else if let Pending {
            mode,
            id,
            leaf: Some(leaf),
        } = found
        {
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
