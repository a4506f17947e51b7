//! Threads that create files and symbolic links, which is most of the time of an application.
//!
//! [`Workers`] take batches of orders, in any order: the paths of all batches on their way are different ones. The
//! calling thread sees to that.
//!
//! A batch is bounded by the bytes of the archive from its first order to its last. The content of a file keeps the
//! buffer that it was read into, with everything around it: headers, and extended headers of up to 1 MiB. Must not read
//! the archive.

use std::{mem, thread::Scope};

use bytes::Bytes;
use crossbeam_channel::Receiver;

use sluice_base::{
    error::{Error, Result},
    threads::Workers,
};

use super::{
    batch::{Batch, Order},
    large::LargeFile,
    list_writer::ListWriter,
    record::PathRecord,
    root::LockedDirectory,
    writer::DirectoryWriter,
};

/// A batch is sent when the archive was read on by this many bytes.
const BATCH_LEN: u64 = 256 << 10;

/// The calling thread's side of the queue.
pub(super) struct Writers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    root: &'env LockedDirectory,
    list: Option<&'env ListWriter>,
    /// The permissions that a new file has if all are asked for; `None` if no file that is there may stay.
    granted: Option<u32>,
    /// The writer of the calling thread.
    writer: DirectoryWriter<'env>,
    batch: Batch,
    /// The byte of the archive at which the batch begins.
    begin: u64,
    /// `None` before the first batch is full.
    threads: Option<Workers<Batch, Result<()>>>,
}

impl<'scope, 'env> Writers<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        root: &'env LockedDirectory,
        list: Option<&'env ListWriter>,
        granted: Option<u32>,
    ) -> Self {
        Self {
            scope,
            root,
            list,
            granted,
            writer: DirectoryWriter::new(root, list, granted),
            batch: Batch::new(),
            begin: 0,
            threads: None,
        }
    }

    /// The archive is read up to byte `position`. Sends the orders so far if they keep enough of the archive in memory.
    pub(super) fn reached(&mut self, position: u64) -> Result<()> {
        if position - self.begin < BATCH_LEN {
            return Ok(());
        }
        self.begin = position;
        if self.batch.is_empty() {
            Ok(())
        } else {
            self.send()
        }
    }

    /// Has `order` carried out.
    pub(super) fn push(&mut self, order: Order) {
        self.batch.push(order);
    }

    /// Creates a file whose content comes in pieces. Its record is written after the last piece is read.
    pub(super) fn begin(&mut self, path: &[u8], mode: u32, size: u64) -> Result<LargeFile> {
        self.writer.begin(path, mode, size)
    }

    /// Has the next piece of a large file written, unless the file that was there has it.
    pub(super) fn piece(&mut self, file: &mut LargeFile, content: Bytes) -> Result<()> {
        if !file.goes_on_with(&content) {
            file.replace(|path, mode| self.writer.create(path, mode))?;
        }
        if let Some((file, at)) = file.place(&content) {
            self.batch.push(Order::Piece { file, at, content });
        }
        Ok(())
    }

    /// Appends `record` to the list at once.
    pub(super) fn record(&mut self, record: &PathRecord<'_>) -> Result<()> {
        self.writer.record(record)
    }

    /// Waits until everything is written, or for the first failure of a thread.
    pub(super) fn finish(&mut self) -> Result<()> {
        let written = self.writer.write(&mem::take(&mut self.batch));
        let ended = self.threads.take().map(Workers::finish);
        let ended = ended.into_iter().flatten();
        ended.fold(Ok(()), Result::and).and(written)
    }

    fn send(&mut self) -> Result<()> {
        let batch = mem::take(&mut self.batch);
        let threads = self.threads.get_or_insert_with(|| {
            Workers::start(self.scope, self.root.helpers(), || {
                let mut writer = DirectoryWriter::new(self.root, self.list, self.granted);
                move |batches: Receiver<Batch>| {
                    batches.iter().try_for_each(|batch| writer.write(&batch))
                }
            })
        });
        if threads.has_ended_early() {
            return Err(Error::fatal("a thread has ended early"));
        }
        let queued = threads.offer(batch);
        queued.or_else(|batch| self.writer.write(&batch))
    }
}
