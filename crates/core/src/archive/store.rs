//! One repository's objects, and how their content is archived. An archive with submodules has several stores.

use std::sync::Arc;

use bstr::BString;
use gix_hash::ObjectId;

use crate::plan::{Locators, Naming, StoreId, outer::Entered};
use sluice_git::{convert::Converter, objects::Failure, odb};

/// The objects of one repository.
pub(super) struct Store {
    /// Locates the blobs.
    pub locators: Locators,
    /// The object database for recovery, when an object is not at its planned location.
    pub odb: odb::Config,
    /// `core.bigFileThreshold`: larger files are not converted.
    pub big_file: u64,
    /// Converts content as attributes demand.
    pub converter: Converter,
    /// The names of the entries.
    pub naming: Naming,
    /// The path in the archived tree of the submodule that the repository belongs to; empty for the one that was asked.
    pub submodule: BString,
    /// The submodules in the tree that are archived with their contents.
    pub entered: Arc<Entered>,
}

impl Store {
    /// The object that is archived for the entry `id`.
    pub(super) fn replaced(&self, id: &ObjectId) -> Result<ObjectId, Failure> {
        self.odb.replaced(id).map_err(Failure::Refused)
    }

    /// Whether the content of the submodule called `name` follows in the archive.
    pub(super) fn enters(&self, name: &[u8]) -> bool {
        !self.entered.is_empty()
            && self
                .entered
                .contains_key(&self.naming.submodule_path(name)[..])
    }
}

/// All stores of an archive.
pub struct Stores(Vec<Store>);

impl Stores {
    /// The stores, by number.
    pub(super) fn new(stores: Vec<Store>) -> Self {
        Self(stores)
    }

    pub(super) fn get(&self, id: StoreId) -> &Store {
        &self.0[id.0]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Store> {
        self.0.iter()
    }
}
