//! What to write, in git's order, without reading one blob of it.
//!
//! The plan is a stream of *windows*: the walk appends entries to a [`Draft`] until it is large
//! enough for a [`Window`]; then each file's blob is located in a pack, and the window cut into
//! [`Job`]s of a few hundred kilobytes each. A walk can be divided between threads, each of which goes through
//! other directories; windows are located by any. A few exist at a time, whatever the size of the
//! tree. Reads trees, attribute files and headers of pack entries, and no other blob.

pub mod delta;
mod draft;
mod entry;
pub mod walk;
pub mod view;
pub mod select;
mod locate;
mod naming;
mod terms;
pub mod extra;
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
use delta::DeltaWalk;
pub use draft::{Draft, Item};
pub use entry::{Blob, Entry, Past};
pub use locate::Locators;
pub use naming::Naming;
pub use terms::Terms;
use walk::Walk;
pub use window::{Job, Window};

/// Entries in the first window: few, so that the first bytes leave early.
const FIRST_WINDOW: usize = 32;
/// Entries in a later window. Links that two windows share are decoded twice.
const WINDOW: usize = 4096;
/// Bytes of names after which a window ends, however few its entries are: 128 for each of them.
const WINDOW_TEXT: usize = 128 * WINDOW;
/// Names of more bytes than this on average make windows so small that none is planned before its turn.
const LONG_NAME: usize = 1024;
/// Directories that are read before a walk may be divided, where little is found in them.
const DIRECTORIES: u64 = 512;
/// Estimated bytes of archive after which the pack pages read so far are given back: less than a
/// hundred megabytes of them, as packs go.
const RELEASE_BYTES: u64 = 512 << 20;
/// How much deflate shrinks a loose object, as a guess at its size.
const LOOSE_RATIO: u64 = 3;

/// What is walked.
pub enum Route {
    /// All of a tree.
    Whole(Box<Walk>),
    /// What changed.
    Delta(Box<DeltaWalk>),
}

impl Route {
    /// Look at one more tree entry, and append to `draft` what it brings to the archive; `false` at the end.
    pub fn step(&mut self, reader: &mut Reader, draft: &mut Draft) -> Result<bool> {
        match self {
            Self::Whole(walk) => walk.step(reader, draft),
            Self::Delta(walk) => walk.step(reader, draft),
        }
    }

    /// How many directories were read; not those of which nothing may be known.
    pub fn directories(&self) -> u64 {
        match self {
            Self::Whole(walk) => walk.directories(),
            Self::Delta(walk) => walk.directories(),
        }
    }

    /// Leave the later part to another.
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

/// Walks, window by window.
pub struct Planner {
    route: Route,
    reader: Reader,
    draft: Draft,
    /// Entries of a full window.
    window: usize,
    /// Whether the names in the last window were long.
    has_long_names: bool,
    /// What ended the walk, to be told after the entries before it.
    failure: Option<Error>,
    /// Directories read by all that this one was divided into.
    directories: Arc<AtomicU64>,
}

impl Planner {
    /// Plan the entries that are found on `route`.
    pub fn new(route: impl Into<Route>, reader: Reader) -> Self {
        let route = route.into();
        Self {
            reader,
            draft: Draft::default(),
            window: FIRST_WINDOW,
            has_long_names: false,
            failure: None,
            directories: Arc::new(route.directories().into()),
            route,
        }
    }

    /// How many directories were read so far, by all that it will have been divided into.
    pub fn directories(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.directories)
    }

    /// Whether the draft holds a window.
    fn is_full(&self) -> bool {
        self.draft.len() >= self.window || self.draft.text_bytes() >= WINDOW_TEXT
    }

    /// Fill the draft; whether the walk is at its end.
    fn fill(&mut self) -> bool {
        let enough = self.route.directories() + DIRECTORIES;
        while !self.is_full() && self.route.directories() < enough {
            match self.route.step(&mut self.reader, &mut self.draft) {
                Ok(true) => {}
                Ok(false) => {
                    self.draft.end();
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
        // What was not found may be there: nothing may be made of that.
        if let Some(refusal) = self.reader.odb.refusal() {
            return Err(refusal);
        }
        if !last && self.failure.is_none() && !self.is_full() {
            let batch = Window::default();
            return Ok(Made { batch, last });
        }
        self.window = (self.window * 2).min(WINDOW);
        self.has_long_names = self.draft.text_bytes() > LONG_NAME * self.draft.len();
        let batch = self.draft.finish();
        Ok(Made { batch, last })
    }

    fn fork(&mut self) -> Option<Self> {
        if self.has_long_names {
            return None;
        }
        Some(Self {
            route: self.route.fork()?,
            reader: self.reader.another(),
            draft: Draft::default(),
            window: self.window,
            has_long_names: false,
            failure: None,
            directories: self.directories(),
        })
    }
}
