//! Threads that create files and symbolic links, which is most of the time of an application.
//!
//! Threads take batches of orders from one queue, in any order: the paths of all batches on their way are different
//! ones. The calling thread sees to that. Where the queue is full the calling thread carries out a batch itself, so that
//! all processors work and what waits is bounded in bytes. Must not read the archive.

use std::{
    mem,
    thread::{Scope, ScopedJoinHandle},
};

use bytes::Bytes;
use crossbeam_channel::{Sender, TrySendError, bounded};

use crate::error::{Error, Result};

use super::{
    batch::{Batch, Order},
    large::LargeFile,
    list_writer::ListWriter,
    path::ArchivePath,
    root::Root,
    threads,
    writer::Writer,
};

/// A batch is sent when it takes this many bytes.
const BATCH_LEN: usize = 256 << 10;
/// The batches that wait for each thread.
const WAITING: usize = 2;

/// The calling thread's side of the queue.
pub(super) struct Writers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    root: &'env Root,
    list: Option<&'env ListWriter>,
    /// Of the calling thread.
    writer: Writer<'env>,
    batch: Batch,
    /// `None` before the first batch is full.
    threads: Option<Threads<'scope>>,
}

struct Threads<'scope> {
    batches: Sender<Batch>,
    handles: Vec<ScopedJoinHandle<'scope, Result<()>>>,
}

impl<'scope, 'env> Writers<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        root: &'env Root,
        list: Option<&'env ListWriter>,
    ) -> Self {
        Self {
            scope,
            root,
            list,
            writer: Writer::new(root, list),
            batch: Batch::default(),
            threads: None,
        }
    }

    /// Has a file created.
    pub(super) fn file(&mut self, path: &ArchivePath<'_>, mode: u32, content: Bytes) -> Result<()> {
        let path = path.bytes().to_vec();
        self.add(Order::File {
            path,
            mode,
            content,
        })
    }

    /// Has a file of `size` zeros created.
    pub(super) fn hole(&mut self, path: &ArchivePath<'_>, mode: u32, size: u64) -> Result<()> {
        let path = path.bytes().to_vec();
        self.add(Order::Hole { path, mode, size })
    }

    /// Has a symbolic link created.
    pub(super) fn symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        let (path, target) = (path.bytes().to_vec(), target.to_vec());
        self.add(Order::Symlink { path, target })
    }

    /// Creates a file whose content comes in pieces, until [`Self::end`].
    pub(super) fn begin(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<LargeFile> {
        self.writer.begin(path, mode)
    }

    /// Has the next piece of a large file written.
    pub(super) fn piece(&mut self, file: &mut LargeFile, content: Bytes) -> Result<()> {
        let (target, at) = file.place(&content);
        self.add(Order::Piece {
            target,
            at,
            content,
        })
    }

    /// Nothing follows in a large file.
    pub(super) fn end(&mut self, file: &LargeFile) -> Result<()> {
        self.writer.record(&file.record())
    }

    /// Waits until everything is written, or for the first failure of a thread.
    pub(super) fn finish(&mut self) -> Result<()> {
        let written = self.writer.write(&mem::take(&mut self.batch));
        let Some(Threads { batches, handles }) = self.threads.take() else {
            return written;
        };
        drop(batches);
        let ended = handles.into_iter().map(threads::join);
        ended.fold(Ok(()), Result::and).and(written)
    }

    fn add(&mut self, order: Order) -> Result<()> {
        self.batch.add(order);
        match self.batch.len < BATCH_LEN {
            true => Ok(()),
            false => self.send(),
        }
    }

    fn send(&mut self) -> Result<()> {
        let batch = mem::take(&mut self.batch);
        let threads = self.threads.get_or_insert_with(|| {
            let writer = || Writer::new(self.root, self.list);
            Threads::start(self.scope, writer)
        });
        if threads.handles.iter().any(ScopedJoinHandle::is_finished) {
            return Err(Error::fatal("a thread has ended early"));
        }
        match threads.batches.try_send(batch) {
            Ok(()) => Ok(()),
            // Disconnected where there is no other thread, on one processor.
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                self.writer.write(&batch)
            }
        }
    }
}

impl<'scope> Threads<'scope> {
    /// Starts one thread less than [`threads::number`], for the calling one.
    fn start<'env>(scope: &'scope Scope<'scope, 'env>, writer: impl Fn() -> Writer<'env>) -> Self {
        let number = threads::number() - 1;
        let (batches, orders) = bounded(WAITING * number);
        let start = |_| {
            let (mut writer, orders) = (writer(), orders.clone());
            scope.spawn(move || orders.iter().try_for_each(|batch| writer.write(&batch)))
        };
        Self {
            batches,
            handles: (0..number).map(start).collect(),
        }
    }
}
