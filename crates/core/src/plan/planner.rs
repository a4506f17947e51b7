//! Runs the walk over one tree, window by window.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    builder::WindowBuilder,
    delta::DeltaWalk,
    walk::Walk,
    window::{StoreId, Window},
};
use sluice_base::{
    error::{Error, Result},
    pipeline::Made,
};
use sluice_git::objects::reader::Reader;

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

/// A walk over one tree, or over the changes between two.
pub enum TreeSource {
    /// A whole tree.
    Whole(Box<Walk>),
    /// The changes between two trees.
    Delta(Box<DeltaWalk>),
}

impl TreeSource {
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

    /// The submodule whose entry was appended last, if its content is to follow. Asked for once.
    pub fn submodule(&mut self) -> Option<StoreId> {
        match self {
            Self::Whole(walk) => walk.submodule(),
            Self::Delta(walk) => walk.submodule(),
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

impl From<Walk> for TreeSource {
    fn from(walk: Walk) -> Self {
        Self::Whole(Box::new(walk))
    }
}

impl From<DeltaWalk> for TreeSource {
    fn from(walk: DeltaWalk) -> Self {
        Self::Delta(Box::new(walk))
    }
}

/// Plans one tree.
pub(super) struct TreePlanner {
    source: TreeSource,
    reader: Reader,
    /// The repository of the tree.
    store: StoreId,
    builder: WindowBuilder,
    /// Entries of a full window.
    window: usize,
    /// Whether the names in the last window were long.
    has_long_names: bool,
    /// The submodule whose entry is the last one of the last window.
    submodule: Option<StoreId>,
    /// The failure that ended the walk. Reported after the entries before it.
    failure: Option<Error>,
    /// Directories read by this planner and by all planners that share its work.
    directories: Arc<AtomicU64>,
}

impl TreePlanner {
    /// Plan the entries of `source`, which are in `store`.
    pub(super) fn new(
        source: TreeSource,
        reader: Reader,
        store: StoreId,
        directories: Arc<AtomicU64>,
    ) -> Self {
        directories.fetch_add(source.directories(), Ordering::Relaxed);
        Self {
            source,
            reader,
            store,
            builder: WindowBuilder::default(),
            window: FIRST_WINDOW,
            has_long_names: false,
            submodule: None,
            failure: None,
            directories,
        }
    }

    /// Whether the builder holds a full window.
    fn is_full(&self) -> bool {
        self.builder.len() >= self.window || self.builder.text_bytes() >= WINDOW_TEXT
    }

    /// Fill the builder. True at the end of the walk.
    fn fill(&mut self) -> bool {
        let enough = self.source.directories() + DIRECTORIES;
        while !self.is_full() && self.source.directories() < enough {
            match self.source.step(&mut self.reader, &mut self.builder) {
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
            self.submodule = self.source.submodule();
            if self.submodule.is_some() {
                break;
            }
        }
        false
    }

    /// Plan the next window.
    pub(super) fn next(&mut self) -> Result<Made<Window>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let before = self.source.directories();
        let last = self.fill();
        let read = self.source.directories() - before;
        self.directories.fetch_add(read, Ordering::Relaxed);
        // An object that was not found may exist in a place without permission.
        if let Some(refusal) = self.reader.odb.refusal() {
            return Err(refusal);
        }
        let is_begun = self.failure.is_none() && self.submodule.is_none() && !self.is_full();
        if !last && is_begun {
            let batch = Window::default();
            return Ok(Made { batch, last });
        }
        self.window = (self.window * 2).min(WINDOW);
        self.has_long_names = self.builder.text_bytes() > LONG_NAME * self.builder.len();
        let mut batch = self.builder.finish();
        batch.store = self.store;
        Ok(Made { batch, last })
    }

    /// The submodule whose content follows the window that was planned last.
    pub(super) fn submodule(&mut self) -> Option<StoreId> {
        self.submodule.take()
    }

    /// Split off the later part of the walk.
    pub(super) fn fork(&mut self) -> Option<Self> {
        if self.has_long_names {
            return None;
        }
        Some(Self {
            source: self.source.fork()?,
            reader: self.reader.clone(),
            store: self.store,
            builder: WindowBuilder::default(),
            window: self.window,
            has_long_names: false,
            submodule: None,
            failure: None,
            directories: Arc::clone(&self.directories),
        })
    }
}
