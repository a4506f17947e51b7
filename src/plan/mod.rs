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
mod blob_policy;
pub mod extra;
pub mod part;
mod window;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    decode::reader::Reader,
    error::{Error, Result},
    pipeline::{Made, Source},
};
pub use blob_policy::BlobPolicy;
pub use builder::{Item, WindowBuilder};
use delta::DeltaWalk;
pub use entry::{Blob, Entry, Past};
pub use locate::Locators;
pub use naming::Naming;
use walk::Walk;
pub use window::{Job, StoreId, Window};

/// Entries in the first window: few, so that the first bytes leave early.
const FIRST_WINDOW: usize = 32;
/// Entries in a later window. Links of delta chains that two windows share are decoded twice.
const WINDOW: usize = 4096;
/// The bytes of names after which a window ends, however few its entries: 128 for each entry of a full
/// window.
const WINDOW_TEXT: usize = 128 * WINDOW;
/// Names that are longer than this on average make windows so small that none is planned before its turn.
const LONG_NAME: usize = 1024;
/// The most directories that are read before a walk may be divided, where they hold few entries.
const DIRECTORIES: u64 = 512;
/// Estimated bytes of archive after which the pages read from packs are released: typically less than a
/// hundred megabytes of them.
const RELEASE_BYTES: u64 = 512 << 20;
/// The typical compression ratio of a loose object, for estimating its size.
const LOOSE_RATIO: u64 = 3;

/// A walk over one tree, or over the changes between two.
pub enum Route {
    /// A whole tree.
    Whole(Box<Walk>),
    /// The changes between two trees.
    Delta(Box<DeltaWalk>),
}

impl Route {
    /// Read one more tree entry, and append its archive entries to `builder`. False at the end.
    pub fn step(&mut self, reader: &mut Reader, builder: &mut WindowBuilder) -> Result<bool> {
        match self {
            Self::Whole(walk) => walk.step(reader, builder),
            Self::Delta(walk) => walk.step(reader, builder),
        }
    }

    /// The number of directories read, as far as the reader may know of them.
    pub fn directories(&self) -> u64 {
        match self {
            Self::Whole(walk) => walk.directories(),
            Self::Delta(walk) => walk.directories(),
        }
    }

    /// Split off the later part of the walk.
    pub fn fork(&mut self) -> Option<Self> {
        match self {
            Self::Whole(walk) => walk.fork().map(Self::from),
            Self::Delta(walk) => walk.fork().map(Self::from),
        }
    }
}

impl From<Walk> for Route {
    fn from(walk: Walk) -> Self {
        Self::Whole(Box::new(walk))
    }
}

impl From<DeltaWalk> for Route {
    fn from(walk: DeltaWalk) -> Self {
        Self::Delta(Box::new(walk))
    }
}

/// Runs a walk, window by window.
pub struct Planner {
    route: Route,
    reader: Reader,
    builder: WindowBuilder,
    /// Entries of a full window.
    window: usize,
    /// Whether the names in the last window were long.
    has_long_names: bool,
    /// The failure that ended the walk. Reported after the entries before it.
    failure: Option<Error>,
    /// Directories read by this planner and by all planners split off it.
    directories: Arc<AtomicU64>,
}

impl Planner {
    /// Plan the entries of `route`.
    pub fn new(route: impl Into<Route>, reader: Reader) -> Self {
        let route = route.into();
        Self {
            reader,
            builder: WindowBuilder::default(),
            window: FIRST_WINDOW,
            has_long_names: false,
            failure: None,
            directories: Arc::new(route.directories().into()),
            route,
        }
    }

    /// The number of directories read so far by this planner and by all planners split off it.
    pub fn directories(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.directories)
    }

    /// Whether the builder holds a full window.
    fn is_full(&self) -> bool {
        self.builder.len() >= self.window || self.builder.text_bytes() >= WINDOW_TEXT
    }

    /// Fill the builder. True at the end of the walk.
    fn fill(&mut self) -> bool {
        let enough = self.route.directories() + DIRECTORIES;
        while !self.is_full() && self.route.directories() < enough {
            match self.route.step(&mut self.reader, &mut self.builder) {
                Ok(true) => {}
                Ok(false) => {
                    self.builder.end();
                    return true;
                }
                Err(failure) => {
                    self.failure = Some(failure);
                    break;
                }
            }
        }
        false
    }
}

impl Source for Planner {
    type Batch = Window;

    fn next(&mut self) -> Result<Made<Window>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let before = self.route.directories();
        let last = self.fill();
        let read = self.route.directories() - before;
        self.directories.fetch_add(read, Ordering::Relaxed);
        // An object that was not found may exist in a place without permission.
        if let Some(refusal) = self.reader.odb.refusal() {
            return Err(refusal);
        }
        if !last && self.failure.is_none() && !self.is_full() {
            let batch = Window::default();
            return Ok(Made { batch, last });
        }
        self.window = (self.window * 2).min(WINDOW);
        self.has_long_names = self.builder.text_bytes() > LONG_NAME * self.builder.len();
        let batch = self.builder.finish();
        Ok(Made { batch, last })
    }

    fn fork(&mut self) -> Option<Self> {
        if self.has_long_names {
            return None;
        }
        Some(Self {
            route: self.route.fork()?,
            reader: self.reader.clone(),
            builder: WindowBuilder::default(),
            window: self.window,
            has_long_names: false,
            failure: None,
            directories: self.directories(),
        })
    }
}
