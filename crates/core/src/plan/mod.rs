//! Plans which entries to write, in git's order, without reading their blobs.
//!
//! The plan is a stream of *windows*: the walk appends entries to a [`WindowBuilder`] until it is large
//! enough for a [`Window`]; then each file's blob is located in a pack, and the window is cut into [`Job`]s
//! of a few hundred kilobytes each. A walk can be divided between threads, each of which walks other
//! directories. Any thread can locate a window. Only a few windows exist at a time, whatever the size of
//! the tree. The plan reads trees, attribute files and headers of pack entries, and no other blob.

pub mod delta;
mod builder;
mod entry;
pub mod walk;
pub mod view;
pub mod select;
mod locate;
mod naming;
pub mod outer;
mod pointer;
mod ahead;
mod blob_policy;
mod planned_tree;
mod planner;
pub mod submodules;
pub mod extra;
pub mod part;
mod window;

use std::sync::{Arc, atomic::AtomicU64};

pub use ahead::{ReadAhead, read_ahead_if_cold};
pub use blob_policy::{BlobPolicy, ContentSize};
pub use builder::{Item, WindowBuilder};
pub use entry::{Blob, ChangeRecord, Entry};
use extra::Extra;
pub use locate::{KnownBlobs, Locators};
pub use naming::Naming;
pub use planned_tree::PlannedTree;
use planner::TreePlanner;
pub use planner::TreeSource;
pub use pointer::lfs_object;
use sluice_base::{
    error::Result,
    pipeline::{Made, Source},
};
use sluice_git::objects::reader::Reader;
pub use window::{Job, StoreId, Window};

/// Estimated bytes of archive after which the pages read from packs are released: typically less than a
/// hundred megabytes of them.
const RELEASE_BYTES: u64 = 512 << 20;
/// The typical compression ratio of a loose object, for estimating its size.
const LOOSE_RATIO: u64 = 3;

/// Plans a tree and the trees of its submodules.
pub struct Planner {
    /// From the archived tree to that of the innermost submodule that is planned.
    trees: Vec<TreePlanner>,
    /// The trees of submodules: element `n` is in store `n + 1`.
    submodules: Arc<[PlannedTree]>,
    directories: Arc<AtomicU64>,
}

impl Planner {
    /// Plan the first of `trees` with the `extras` after it, and each of the other trees where the walk meets its submodule.
    pub fn new(trees: impl IntoIterator<Item = PlannedTree>, extras: Arc<[Extra]>) -> Self {
        let mut trees = trees.into_iter();
        let archived = trees.next().expect("the archived tree comes first");
        let mut planner = Self {
            trees: Vec::new(),
            submodules: trees.collect(),
            directories: Arc::default(),
        };
        planner.begin(archived.into_source(Some(extras)), StoreId::default());
        planner
    }

    /// The number of directories read so far by this planner and by all planners split off it.
    pub fn directories(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.directories)
    }

    fn enter(&mut self, store: StoreId) {
        let submodule = self.submodules[store.0 - 1].clone();
        self.begin(submodule.into_source(None), store);
    }

    fn begin(&mut self, (source, reader): (TreeSource, Reader), store: StoreId) {
        let tree = TreePlanner::new(source, reader, store, self.directories());
        self.trees.push(tree);
    }
}

impl Source for Planner {
    type Batch = Window;

    fn next(&mut self) -> Result<Made<Window>> {
        let innermost = self
            .trees
            .last_mut()
            .expect("the archived tree is left last");
        let mut made = innermost.next()?;
        if let Some(store) = innermost.submodule() {
            self.enter(store);
        } else if made.last && self.trees.len() > 1 {
            self.trees.pop();
            made.last = false;
        }
        Ok(made)
    }

    /// Split off the later part of the outermost tree that can be divided, and the rest of the trees around it.
    fn fork(&mut self) -> Option<Self> {
        let forked = |(number, tree): (usize, &mut TreePlanner)| Some((number, tree.fork()?));
        let (number, later) = self.trees.iter_mut().enumerate().find_map(forked)?;
        let around = self.trees.drain(..number);
        Some(Self {
            trees: around.chain([later]).collect(),
            submodules: Arc::clone(&self.submodules),
            directories: self.directories(),
        })
    }
}
