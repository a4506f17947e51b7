//! A thread that creates files and symbolic links. Each path stands in the list of the directory before anything is
//! created there. Must not read the archive.

use std::io::Write;

use cap_std::fs::File;
use crossbeam_channel::Receiver;

use crate::error::Result;

use super::{
    batch::{Batch, FileOrder, Order},
    cursor::{Cursor, failed},
    hash::Hasher,
    list_writer::ListWriter,
    path::ArchivePath,
    record::{Record, RecordKind},
    root::Root,
};

/// Carries out orders.
pub(super) struct Writer<'r> {
    cursor: Cursor<'r>,
    list: Option<&'r ListWriter>,
    /// The file of the last order.
    open: Option<OpenFile>,
    /// Records that the list does not have yet.
    records: Vec<u8>,
}

struct OpenFile {
    file: File,
    path: Vec<u8>,
    /// The sum of content that comes in several batches.
    sum: Option<Sum>,
}

/// The sum of the content so far.
struct Sum {
    hasher: Hasher,
    len: u64,
    mode: u32,
    size: u64,
}

impl<'r> Writer<'r> {
    pub(super) fn new(root: &'r Root, list: Option<&'r ListWriter>) -> Self {
        Self {
            cursor: root.cursor(),
            list,
            open: None,
            records: Vec::new(),
        }
    }

    /// Carries out all orders of `batches`.
    pub(super) fn run(mut self, batches: Receiver<Batch>) -> Result<()> {
        for batch in batches {
            if self.list.is_some() {
                batch.record(&mut self.records);
            }
            self.flush()?;
            for order in &batch.orders {
                self.carry_out(order, &batch)?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(list) = self.list {
            list.append(&self.records)?;
        }
        self.records.clear();
        Ok(())
    }

    fn carry_out(&mut self, order: &Order, batch: &Batch) -> Result<()> {
        match order {
            Order::File(order) => self.create(order, batch.bytes(&order.path)),
            Order::Content(content) => self.write(batch.bytes(content)),
            Order::Hole(size) => {
                let OpenFile { file, path, .. } = self.open();
                file.set_len(*size)
                    .map_err(|error| failed("write", path, error))
            }
            Order::Symlink(path, target) => {
                self.open = None;
                let path = ArchivePath::of_checked(batch.bytes(path));
                self.cursor.create_symlink(&path, batch.bytes(target))
            }
        }
    }

    fn create(&mut self, order: &FileOrder, path: &[u8]) -> Result<()> {
        let FileOrder {
            mode,
            size,
            is_whole,
            ..
        } = *order;
        let file = self
            .cursor
            .create_file(&ArchivePath::of_checked(path), mode)?;
        let sum = || Sum {
            hasher: Hasher::default(),
            len: 0,
            mode,
            size,
        };
        self.open = Some(OpenFile {
            file,
            path: path.to_vec(),
            sum: (!is_whole).then(sum),
        });
        Ok(())
    }

    fn write(&mut self, content: &[u8]) -> Result<()> {
        let OpenFile { file, path, sum } = self.open();
        let written = file.write_all(content);
        written.map_err(|error| failed("write", path, error))?;
        let Some(Sum {
            hasher,
            len,
            mode,
            size,
        }) = sum
        else {
            return Ok(());
        };
        hasher.update(content);
        *len += content.len() as u64;
        if len == size {
            let (mode, size, hash) = (*mode, *size, hasher.finish());
            let kind = RecordKind::File { mode, size, hash };
            let path = std::mem::take(path);
            Record { path: &path, kind }.push(&mut self.records);
        }
        Ok(())
    }

    /// The file of the order before.
    fn open(&mut self) -> &mut OpenFile {
        self.open.as_mut().expect("content follows its file")
    }
}
