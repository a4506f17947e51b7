//! What a walk adds around the entries of its tree: the directory for the prefix, the files outside the tree, and the places of
//! submodules.

use std::{collections::HashMap, sync::Arc};

use bstr::BString;
use gix_hash::ObjectId;

use super::{
    builder::{Item, WindowBuilder},
    extra::Extra,
    view::View,
    window::StoreId,
};
use sluice_base::error::Result;
use sluice_git::{objects::reader::Reader, tree::Mode};

/// The submodules of one tree that are archived with their contents, by path in the tree.
pub type Entered = HashMap<BString, StoreId>;

/// What a walk over one tree adds to its entries.
pub struct Outer {
    /// The files outside the tree. `None` for the tree of a submodule, whose entry stands for the root of the tree, too.
    extras: Option<Arc<[Extra]>>,
    /// The number of extra files already appended.
    added: usize,
    entered: Arc<Entered>,
    /// The submodule whose entry is appended next, or was appended last.
    submodule: Option<StoreId>,
}

impl Outer {
    /// Of a tree with these `extras`, or of the tree of a submodule. The contents of the submodules in `entered` follow their
    /// entries.
    pub(super) fn new(extras: Option<Arc<[Extra]>>, entered: Arc<Entered>) -> Self {
        Self {
            extras,
            added: 0,
            entered,
            submodule: None,
        }
    }

    /// Whether the contents of some submodules follow their entries.
    pub(super) fn enters_any(&self) -> bool {
        !self.entered.is_empty()
    }

    /// Note the submodule at `path` of the tree, if there is one whose contents follow. Returns whether there is.
    pub(super) fn reach(&mut self, path: Option<&[u8]>) -> bool {
        self.submodule = path.and_then(|path| self.entered.get(path)).copied();
        self.submodule.is_some()
    }

    /// The submodule whose entry was appended last, if its contents are to follow. Returned once.
    pub(super) fn take_submodule(&mut self) -> Option<StoreId> {
        self.submodule.take()
    }

    /// Append the directory for the prefix of `tree`: a prefix that ends in a slash is an entry of its own, with the tree's id.
    pub(super) fn prefix(&self, builder: &mut WindowBuilder, view: &View, tree: ObjectId) {
        let name = view.naming.prefix_directory();
        if let Some(name) = name.filter(|_| self.extras.is_some()) {
            builder.push(Item::new(&name, Mode::Directory, tree));
        }
    }

    /// Append the next extra file to the entries of `tree`. False if there is none.
    pub(super) fn extra(
        &mut self,
        reader: &mut Reader,
        builder: &mut WindowBuilder,
        view: &mut View,
        tree: ObjectId,
    ) -> Result<bool> {
        let extras = self.extras.as_deref().unwrap_or_default();
        let Some(extra) = extras.get(self.added) else {
            return Ok(false);
        };
        let path = view.naming.relative_path(&extra.name);
        let text = path.map(|path| view.text_of(reader, tree, path));
        let text = text.transpose()?.flatten();
        builder.push_extra(tree.kind(), self.added as u32, extra, text);
        self.added += 1;
        Ok(true)
    }

    /// Split off what belongs to the later part of a walk.
    pub(super) fn fork(&mut self) -> Self {
        Self::new(self.extras.take(), Arc::clone(&self.entered))
    }
}
