//! Walks the changes: the new entries that the new tree shows are archived.

use std::{ops::ControlFlow, sync::Arc};

use super::changes::{Changes, NewEntry, NewLeaf};
use crate::{
    base::error::Result,
    git::{objects::reader::Reader, tree::Mode},
    plan::{
        builder::{Item, WindowBuilder},
        extra::Extra,
        walk::Entered,
        window::StoreId,
    },
};

/// A walk over the changes between two trees.
pub struct DeltaWalk {
    changes: Changes,
    extras: Arc<[Extra]>,
    begun: bool,
    through: bool,
    /// The number of extra files already added.
    added: usize,
    /// Whether the entry of a submodule stands for the root of the tree.
    is_of_submodule: bool,
    /// The submodules whose changes follow their entries.
    entered: Arc<Entered>,
    /// The submodule whose entry was appended last.
    submodule: Option<StoreId>,
}

impl DeltaWalk {
    /// Walks `changes`, with the `extras` after them.
    pub fn new(changes: Changes, extras: Arc<[Extra]>) -> Self {
        Self {
            changes,
            extras,
            begun: false,
            through: false,
            added: 0,
            is_of_submodule: false,
            entered: Arc::default(),
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

    /// Reports where the changes of the submodules in `entered` follow.
    pub fn entering(self, entered: Arc<Entered>) -> Self {
        Self { entered, ..self }
    }

    /// The submodule whose entry was appended last, if its changes are to follow. Told once.
    pub fn submodule(&mut self) -> Option<StoreId> {
        self.submodule.take()
    }

    /// The number of directories read on both sides.
    pub fn directories(&self) -> u64 {
        self.changes.directories()
    }

    /// Advance by one step, and append its entries to `builder`. False at the end.
    pub fn step(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        if !self.begun {
            self.begun = true;
            self.begin(builder);
        }
        if self.through {
            return self.extra(reader, builder);
        }
        match self.changes.step(reader)? {
            ControlFlow::Break(()) => self.through = true,
            ControlFlow::Continue(entry) => {
                if let Some(entry) = entry {
                    self.submodule = self.entered_by(&entry);
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
            extras: std::mem::take(&mut self.extras),
            begun: true,
            through: false,
            added: 0,
            is_of_submodule: self.is_of_submodule,
            entered: Arc::clone(&self.entered),
            submodule: None,
        })
    }

    fn begin(&mut self, builder: &mut WindowBuilder) {
        let tree = self.changes.new_tree();
        let name = self.changes.view().naming.prefix_directory();
        if let Some(name) = name.filter(|_| !self.is_of_submodule) {
            builder.push(Item::new(&name, Mode::Directory, tree));
        }
    }

    /// The submodule whose changes follow `entry`.
    fn entered_by(&mut self, entry: &NewEntry) -> Option<StoreId> {
        match entry {
            NewEntry::Leaf(leaf)
                if leaf.new.mode == Mode::Submodule && !self.entered.is_empty() =>
            {
                let path = self.changes.view().naming.submodule_path(&leaf.name);
                self.entered.get(&path[..]).copied()
            }
            NewEntry::Leaf(_) | NewEntry::Directory(..) => None,
        }
    }

    /// Append the next extra file. False if there is none.
    fn extra(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        let Some(extra) = self.extras.get(self.added) else {
            return Ok(false);
        };
        let tree = self.changes.new_tree();
        let view = self.changes.view();
        let path = view.naming.relative_path(&extra.name);
        let text = path.map(|path| view.text_of(reader, tree, path));
        let text = text.transpose()?.flatten();
        builder.push_extra(tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        Ok(true)
    }
}

fn append(builder: &mut WindowBuilder, entry: NewEntry) {
    let NewLeaf { name, past, new } = match entry {
        NewEntry::Leaf(found) => found,
        NewEntry::Directory(id, name) => {
            return builder.push(Item::new(&[&name], Mode::Directory, id));
        }
    };
    builder.remember(past);
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
