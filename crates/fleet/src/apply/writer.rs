//! Creates files and symbolic links, one batch of orders after the other. Each path stands in the list of the directory
//! before anything is created there. Must not read the archive.

use std::io::Write;

use cap_std::fs::File;

use sluice_base::error::Result;

use super::{
    batch::Order,
    cursor::{Cursor, failed},
    large::LargeFile,
    list_writer::ListWriter,
    path::ArchivePath,
    record::{PathRecord, RecordKind},
    root::LockedDirectory,
};

/// Carries out orders, in one thread.
pub(super) struct DirectoryWriter<'r> {
    cursor: Cursor<'r>,
    list: Option<&'r ListWriter>,
    /// Records that the list does not have yet.
    records: Vec<u8>,
}

impl<'r> DirectoryWriter<'r> {
    pub(super) fn new(root: &'r LockedDirectory, list: Option<&'r ListWriter>) -> Self {
        Self {
            cursor: root.cursor(),
            list,
            records: Vec::new(),
        }
    }

    /// Carry out the orders of a batch.
    pub(super) fn write(&mut self, batch: &[Order]) -> Result<()> {
        if self.list.is_some() {
            for record in batch.iter().filter_map(Order::record) {
                record.push(&mut self.records);
            }
        }
        self.flush()?;
        batch.iter().try_for_each(|order| self.run(order))
    }

    /// Create a file whose content comes in pieces.
    pub(super) fn begin(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<LargeFile> {
        let (path, kind) = (path.bytes(), RecordKind::Begun);
        self.record(&PathRecord { path, kind })?;
        Ok(LargeFile::new(self.create(path, mode)?, path, mode))
    }

    /// Append `record` to the list.
    pub(super) fn record(&mut self, record: &PathRecord<'_>) -> Result<()> {
        record.push(&mut self.records);
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(list) = self.list {
            list.append(&self.records)?;
        }
        self.records.clear();
        Ok(())
    }

    fn run(&mut self, order: &Order) -> Result<()> {
        match order {
            Order::File { path, mode, bytes } => {
                let mut file = self.create(path, *mode)?;
                let written = file.write_all(bytes);
                written.map_err(|error| {
                    // On a full disk, the next archive needs the room.
                    let _ = file.set_len(0);
                    failed("write", path, error)
                })
            }
            Order::Hole { path, mode, size } => {
                let sized = self.create(path, *mode)?.set_len(*size);
                sized.map_err(|error| failed("write", path, error))
            }
            Order::Symlink { path, target } => {
                let path = ArchivePath::of_checked(path);
                self.cursor.create_symlink(&path, target)
            }
            Order::Piece { file, at, content } => file.write(content, *at),
        }
    }

    fn create(&mut self, path: &[u8], mode: u32) -> Result<File> {
        self.cursor
            .create_file(&ArchivePath::of_checked(path), mode)
    }
}
