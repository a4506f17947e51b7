//! Threads that create files and symbolic links, which is most of the time of an application.
//!
//! Each thread has a lane of its own, in which it writes what it is sent, in order. All names of a directory go into
//! the same lane: an archive that names a path twice leaves the later content, as one thread would. What waits in the
//! lanes is bounded in bytes. Must not read the archive.

use std::{
    hash::{BuildHasher, BuildHasherDefault},
    thread::{Scope, ScopedJoinHandle},
};

use crossbeam_channel::{Sender, bounded};
use rustc_hash::FxHasher;

use crate::error::{Error, Result};

use super::{
    batch::{Batch, FileOrder, Order},
    list_writer::ListWriter,
    path::ArchivePath,
    root::Root,
    threads,
    writer::Writer,
};

/// A batch is sent when it takes this many bytes, with its orders.
const BATCH_LEN: usize = 256 << 10;
/// The batches that wait in a lane.
const WAITING: usize = 16;

/// The threads of one application.
pub(super) struct Writers<'scope> {
    lanes: Vec<Lane<'scope>>,
    /// The lane of the file whose content comes next.
    current: usize,
    /// The bytes to come of a file that has no room in one batch.
    left: u64,
}

struct Lane<'scope> {
    batch: Batch,
    batches: Sender<Batch>,
    thread: ScopedJoinHandle<'scope, Result<()>>,
}

impl<'scope> Writers<'scope> {
    /// Starts the threads.
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        root: &'env Root,
        list: Option<&'env ListWriter>,
    ) -> Self {
        let lane = |_| {
            let (batches, orders) = bounded(WAITING);
            Lane {
                batch: Batch::default(),
                batches,
                thread: scope.spawn(move || Writer::new(root, list).run(orders)),
            }
        };
        Self {
            lanes: (0..threads::number()).map(lane).collect(),
            current: 0,
            left: 0,
        }
    }

    /// Has a file created, whose content of `size` bytes follows.
    pub(super) fn file(&mut self, path: &ArchivePath<'_>, mode: u32, size: u64) -> Result<()> {
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        let is_whole = len <= BATCH_LEN;
        self.left = if is_whole { 0 } else { size };
        let lane = self.lane_of(path, if is_whole { len } else { 0 })?;
        let path = lane.batch.add(path.bytes());
        let order = FileOrder {
            path,
            mode,
            size,
            is_whole,
        };
        lane.batch.orders.push(Order::File(order));
        Ok(())
    }

    /// Has content appended to the last file.
    pub(super) fn content(&mut self, piece: &[u8]) -> Result<()> {
        let lane = &mut self.lanes[self.current];
        if self.left == 0 {
            lane.batch.append(piece);
            return Ok(());
        }
        lane.make_room(piece.len())?;
        lane.batch.append(piece);
        self.left -= piece.len() as u64;
        match self.left {
            // The record of the file comes before those of a later batch.
            0 => lane.send(),
            _ => Ok(()),
        }
    }

    /// Has a file of `size` zeros created.
    pub(super) fn hole(&mut self, path: &ArchivePath<'_>, mode: u32, size: u64) -> Result<()> {
        self.file(path, mode, 0)?;
        let lane = &mut self.lanes[self.current];
        lane.batch.orders.push(Order::Hole(size));
        Ok(())
    }

    /// Has a symbolic link created.
    pub(super) fn symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        let lane = self.lane_of(path, target.len())?;
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
        ended
            .into_iter()
            .map(threads::join)
            .fold(Ok(()), Result::and)
    }

    /// The lane for `path`, with room for so much content.
    fn lane_of(&mut self, path: &ArchivePath<'_>, content: usize) -> Result<&mut Lane<'scope>> {
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let hash = hasher.hash_one(path.split().0);
        self.current = (hash % self.lanes.len() as u64) as usize;
        let lane = &mut self.lanes[self.current];
        lane.make_room(path.bytes().len() + content)?;
        Ok(lane)
    }
}

impl Lane<'_> {
    /// Sends the batch if it has no room for `len` bytes.
    fn make_room(&mut self, len: usize) -> Result<()> {
        let used = self.batch.len();
        match used == 0 || used + len <= BATCH_LEN {
            true => Ok(()),
            false => self.send(),
        }
    }

    fn send(&mut self) -> Result<()> {
        let next = Batch {
            orders: Vec::with_capacity(self.batch.orders.len()),
            bytes: Vec::with_capacity(BATCH_LEN),
        };
        let sent = self.batches.send(std::mem::replace(&mut self.batch, next));
        sent.map_err(|_| Error::fatal("a thread has ended early"))
    }
}
