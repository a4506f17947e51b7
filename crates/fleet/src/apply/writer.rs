//! Creates files and symbolic links, one batch of orders after the other. Each path stands in the list of the directory
//! before anything is created there. Must not read the archive.

use std::io::Write;

use cap_std::fs::{File, FileExt, MetadataExt};
use rustix::process::geteuid;

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
    /// The permissions that a new file has if all are asked for; `None` if no file that is there may stay.
    granted: Option<u32>,
    /// Records that the list does not have yet.
    records: Vec<u8>,
}

impl<'r> DirectoryWriter<'r> {
    pub(super) fn new(
        root: &'r LockedDirectory,
        list: Option<&'r ListWriter>,
        granted: Option<u32>,
    ) -> Self {
        Self {
            cursor: root.cursor(),
            list,
            granted,
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

    /// Create a file whose content comes in pieces, unless one is there that may be the same.
    pub(super) fn begin(&mut self, path: &[u8], mode: u32, size: u64) -> Result<LargeFile> {
        let kind = RecordKind::Begun;
        self.record(&PathRecord { path, kind })?;
        let former = self.former(path, mode, size);
        let is_former = former.is_some();
        let file = former.map_or_else(|| self.create(path, mode), Ok)?;
        Ok(LargeFile::new(file, path, mode, is_former))
    }

    /// The file that is there, if a new one would have its permissions and owner. It may stay if it has the same content. What
    /// cannot be read is not the same.
    fn former(&mut self, path: &[u8], mode: u32, size: u64) -> Option<File> {
        let path = ArchivePath::of_checked(path);
        let mode = mode & self.granted?;
        let there = self.cursor.status(&path).ok()??;
        let may_stay = there.is_file()
            && (there.mode() & 0o7777, there.len()) == (mode, size)
            && there.uid() == geteuid().as_raw();
        may_stay.then(|| self.cursor.open_file(&path).ok())?
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
                let former = self.former(path, *mode, bytes.len() as u64);
                if former.is_some_and(|former| has_content(&former, bytes, 0)) {
                    return Ok(());
                }
                let mut file = self.create(path, *mode)?;
                let written = file.write_all(bytes);
                written.map_err(|error| {
                    // On a full disk, the next archive needs the room.
                    let _ = file.set_len(0);
                    failed("write", path, error)
                })
            }
            Order::Hole { path, mode, size } => {
                let takes_no_room = |it: File| it.metadata().is_ok_and(|it| it.blocks() == 0);
                if self.former(path, *mode, *size).is_some_and(takes_no_room) {
                    return Ok(());
                }
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

    pub(super) fn create(&mut self, path: &[u8], mode: u32) -> Result<File> {
        self.cursor
            .create_file(&ArchivePath::of_checked(path), mode)
    }
}

/// Whether `file` has this `content` from byte `at` on. A piece of an archive fits into memory.
pub(super) fn has_content(file: &File, content: &[u8], at: u64) -> bool {
    let mut there = vec![0; content.len()];
    file.read_exact_at(&mut there, at).is_ok() && there == content
}
