//! Files of Git LFS: which blobs are pointers, and the objects in the local store that they stand for.
//!
//! No program runs, nothing is fetched, and nothing in the store is changed. The module knows neither git's objects nor
//! archives.

mod pointer;
mod store;

use std::sync::Arc;

pub use pointer::{Hash, POINTER_LEN, Pointer};
pub use store::{LfsObject, LocalStore, ask_if_cold};

/// What is sent of files with the attribute `filter=lfs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LfsFiles {
    /// What the filter of the configuration makes of them.
    #[default]
    Filtered,
    /// The pointers, as if no filter were configured.
    Pointers,
    /// The objects, from this store.
    Contents(Arc<LocalStore>),
}
