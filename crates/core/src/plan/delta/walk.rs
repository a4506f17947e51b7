//! Walks the changes: the new entries that the new tree shows are archived.

use std::ops::ControlFlow;

use super::changes::{Changes, NewEntry, NewLeaf};
use crate::plan::{
    builder::{Item, WindowBuilder},
    outer::Outer,
    window::StoreId,
};
use sluice_base::error::Result;
use sluice_git::{objects::reader::Reader, tree::Mode};

/// A walk over the changes between two trees.
pub struct DeltaWalk {
    changes: Changes,
    outer: Outer,
    begun: bool,
    through: bool,
}

impl DeltaWalk {
    /// Walks `changes`.
    pub fn new(changes: Changes, outer: Outer) -> Self {
        Self {
            changes,
            outer,
            begun: false,
            through: false,
        }
    }

    /// The submodule whose entry was appended last, if its changes are to follow. Returned once.
    pub fn submodule(&mut self) -> Option<StoreId> {
        self.outer.take_submodule()
    }

    /// The number of directories read on both sides.
    pub fn directories(&self) -> u64 {
        self.changes.directories()
    }

    /// Advance by one step, and append its entries to `builder`. False at the end.
    pub fn step(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        if !self.begun {
            self.begun = true;
            let tree = self.changes.new_tree();
            self.outer.prefix(builder, self.changes.view(), tree);
        }
        if self.through {
            let tree = self.changes.new_tree();
            return self.outer.extra(reader, builder, self.changes.view(), tree);
        }
        match self.changes.step(reader)? {
            ControlFlow::Break(()) => self.through = true,
            ControlFlow::Continue(entry) => {
                if let Some(entry) = entry {
                    self.reach(&entry);
                    append(builder, entry);
                }
            }
        }
        Ok(true)
    }

    /// Split off the later part of the walk.
    pub fn fork(&mut self) -> Option<Self> {
        if !self.begun {
            return None;
        }
        let changes = self.changes.fork()?;
        Some(Self {
            changes,
            outer: self.outer.fork(),
            begun: true,
            through: false,
        })
    }

    /// Note the submodule whose changes follow `entry`.
    fn reach(&mut self, entry: &NewEntry) {
        let path = match entry {
            NewEntry::Leaf(leaf) if leaf.new.mode == Mode::Submodule && self.outer.enters_any() => {
                Some(self.changes.view().naming.submodule_path(&leaf.name))
            }
            NewEntry::Leaf(_) | NewEntry::Directory(..) => None,
        };
        self.outer.reach(path.as_deref());
    }
}

fn append(builder: &mut WindowBuilder, entry: NewEntry) {
    let NewLeaf { name, change, new } = match entry {
        NewEntry::Leaf(found) => found,
        NewEntry::Directory(id, name) => {
            return builder.push(Item::new(&[&name], Mode::Directory, id));
        }
    };
    builder.remember(change);
    let name = [&name[..]];
    let item = Item {
        kind: new.leaf.kind,
        disposition: new.leaf.disposition,
        size: new.leaf.size,
        treatment: new.leaf.treatment,
        kept: new.leaf.kept,
        ..Item::new(&name, new.mode, new.id)
    };
    builder.push(item);
}
