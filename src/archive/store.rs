//! One repository's objects, and how their content is archived. An archive with submodules has several stores.

use gix::ObjectId;

use crate::{
    convert::Converter,
    decode::Failure,
    odb,
    plan::{Locators, StoreId},
};

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
    /// The length of the part of a name before the path by which conversions know the file.
    pub prefix_len: usize,
}

impl Store {
    /// The object that is archived for the entry `id`.
    pub(super) fn replaced(&self, id: &ObjectId) -> Result<ObjectId, Failure> {
        self.odb.replaced(id).map_err(Failure::Refused)
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
