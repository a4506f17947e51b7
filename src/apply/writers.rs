//! Threads that create files and symbolic links, which is most of the time of an application.
//!
//! Each thread has a lane of its own, in which it writes what it is sent, in order. All names of a directory go into
//! the same lane: an archive that names a path twice leaves the later content, as one thread would. What waits in the
//! lanes is bounded in bytes. Must not read the archive.

use std::{
    hash::{BuildHasher, BuildHasherDefault},
    num::NonZeroUsize,
    ops::Range,
    thread::{self, Scope, ScopedJoinHandle},
};

use std::io::Write;

use cap_std::fs::File;
use crossbeam_channel::{Receiver, Sender, bounded};
use rustc_hash::FxHasher;

use crate::error::{Error, Result};

use super::{
    cursor::{Cursor, failed},
    path::ArchivePath,
    root::Root,
};

/// The most threads: more wait for each other in the kernel.
const MAX_LANES: usize = 8;
/// A batch is sent when it has this many bytes, of content and of paths.
const BATCH_LEN: usize = 256 << 10;
/// The batches that wait in a lane.
const WAITING: usize = 16;

/// The threads of one application.
pub(super) struct Writers<'scope> {
    lanes: Vec<Lane<'scope>>,
    /// The lane of the file whose content comes next.
    current: usize,
}

struct Lane<'scope> {
    batch: Batch,
    batches: Sender<Batch>,
    thread: ScopedJoinHandle<'scope, Result<()>>,
}

/// Orders for one lane.
#[derive(Default)]
struct Batch {
    orders: Vec<Order>,
    /// The paths, targets and contents of the orders.
    bytes: Vec<u8>,
}

/// What a thread does next. The file of the order before is then complete.
enum Order {
    /// Create a file with permissions.
    File(Range<usize>, u32),
    /// Append to that file.
    Content(Range<usize>),
    /// Give that file a size, with zeros.
    Hole(u64),
    /// Create a symbolic link with a target.
    Symlink(Range<usize>, Range<usize>),
}

impl<'scope> Writers<'scope> {
    /// Starts the threads.
    pub(super) fn start<'env>(scope: &'scope Scope<'scope, 'env>, root: &'env Root) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let lane = |_| {
            let (batches, orders) = bounded(WAITING);
            Lane {
                batch: Batch::default(),
                batches,
                thread: scope.spawn(|| Writer::new(root).run(orders)),
            }
        };
        Self {
            lanes: (0..processors.min(MAX_LANES)).map(lane).collect(),
            current: 0,
        }
    }

    /// Has a file created. Its content follows.
    pub(super) fn file(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<()> {
        let lane = self.lane_of(path)?;
        let path = lane.batch.add(path.bytes());
        lane.batch.orders.push(Order::File(path, mode));
        Ok(())
    }

    /// Has content appended to the last file.
    pub(super) fn content(&mut self, mut piece: &[u8]) -> Result<()> {
        while !piece.is_empty() {
            let lane = &mut self.lanes[self.current];
            lane.make_room()?;
            let room = BATCH_LEN - lane.batch.bytes.len();
            let (now, later) = piece.split_at(piece.len().min(room));
            lane.batch.append(now);
            piece = later;
        }
        Ok(())
    }

    /// Has `size` zeros for the content of the last file.
    pub(super) fn hole(&mut self, size: u64) {
        let lane = &mut self.lanes[self.current];
        lane.batch.orders.push(Order::Hole(size));
    }

    /// Has a symbolic link created.
    pub(super) fn symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        let lane = self.lane_of(path)?;
        let (path, target) = (lane.batch.add(path.bytes()), lane.batch.add(target));
        lane.batch.orders.push(Order::Symlink(path, target));
        Ok(())
    }

    /// Waits until everything is written, or for the first failure.
    pub(super) fn finish(self) -> Result<()> {
        let ended = self.lanes.into_iter().map(|lane| {
            // A thread that has failed says why itself.
            let _ = lane.batches.send(lane.batch);
            drop(lane.batches);
            lane.thread
        });
        let ended: Vec<_> = ended.collect();
        let ended = ended.into_iter().map(|thread| {
            let outcome = thread.join();
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.fold(Ok(()), Result::and)
    }

    fn lane_of(&mut self, path: &ArchivePath<'_>) -> Result<&mut Lane<'scope>> {
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let hash = hasher.hash_one(path.split().0);
        self.current = (hash % self.lanes.len() as u64) as usize;
        let lane = &mut self.lanes[self.current];
        lane.make_room()?;
        Ok(lane)
    }
}

impl Lane<'_> {
    /// Sends the batch if it is full.
    fn make_room(&mut self) -> Result<()> {
        if self.batch.bytes.len() < BATCH_LEN {
            return Ok(());
        }
        let next = Batch {
            orders: Vec::with_capacity(self.batch.orders.len()),
            bytes: Vec::with_capacity(BATCH_LEN),
        };
        let sent = self.batches.send(std::mem::replace(&mut self.batch, next));
        sent.map_err(|_| Error::fatal("a thread has ended early"))
    }
}

impl Batch {
    fn add(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Append to the content of the last file.
    fn append(&mut self, piece: &[u8]) {
        let added = self.add(piece);
        match self.orders.last_mut() {
            Some(Order::Content(before)) => before.end = added.end,
            _ => self.orders.push(Order::Content(added)),
        }
    }
}

/// What a thread does.
struct Writer<'r> {
    cursor: Cursor<'r>,
    /// The file of the last order, with its path.
    open: Option<(File, Vec<u8>)>,
}

impl<'r> Writer<'r> {
    fn new(root: &'r Root) -> Self {
        Self {
            cursor: root.cursor(),
            open: None,
        }
    }

    fn run(mut self, batches: Receiver<Batch>) -> Result<()> {
        for batch in batches {
            for order in &batch.orders {
                self.carry_out(order, &batch.bytes)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, order: &Order, bytes: &[u8]) -> Result<()> {
        match order {
            Order::File(path, mode) => {
                let path = &bytes[path.clone()];
                let file = self
                    .cursor
                    .create_file(&ArchivePath::of_checked(path), *mode)?;
                self.open = Some((file, path.to_vec()));
                Ok(())
            }
            Order::Content(content) => {
                self.with_file(|file| file.write_all(&bytes[content.clone()]))
            }
            Order::Hole(size) => self.with_file(|file| file.set_len(*size)),
            Order::Symlink(path, target) => {
                self.open = None;
                let path = ArchivePath::of_checked(&bytes[path.clone()]);
                self.cursor.create_symlink(&path, &bytes[target.clone()])
            }
        }
    }

    fn with_file(&mut self, work: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
        let (file, path) = self.open.as_mut().expect("content follows its file");
        work(file).map_err(|error| failed("write", path, error))
    }
}
