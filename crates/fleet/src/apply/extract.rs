//! Applies the steps of an archive to the directory, one after the other.
//!
//! A repeated application from the start has the same result, however much an earlier one has done.
//! Therefore a path to be deleted may be missing, and content of the archive may exist already, perhaps of
//! another type than the deleted path, or in place of a directory. Nothing else is tolerated: an obstacle
//! to a deletion must be an entry of this archive.

use std::{collections::HashSet, io::Read, thread};

use sluice_base::error::{Error, Result, format_bytes};

use super::{
    batch::Order,
    clear::clear,
    cursor::{Cursor, Look},
    former::Former,
    list::ListedKind,
    list_writer::ListWriter,
    path::{ArchivePath, above},
    progress::ApplyProgress,
    reader::{ArchiveReader, Content, Item, ItemKind},
    record::{PathRecord, RecordKind},
    root::LockedDirectory,
    steps::{ApplyStep, Steps},
    writers::Writers,
};

/// Records of deletions are written when they take this many bytes.
const DELETED_LEN: usize = 64 << 10;

/// An application in progress.
struct Extraction<'a, 'p, 'scope> {
    cursor: Cursor<'a>,
    writers: Writers<'scope, 'a>,
    /// The path of the last file or symbolic link.
    last: Vec<u8>,
    list: Option<&'a ListWriter>,
    former: Option<Former>,
    /// Records of deletions that the list does not have yet.
    deleted: Vec<u8>,
    progress: &'a mut ApplyProgress<'p>,
    /// Obstacles to deletions, until the archive writes their paths.
    obstacles: HashSet<Vec<u8>>,
}

/// Apply the `steps` of `first`, then those of `reader`, and append what they bring to `list`. What `former` archives have brought
/// stays where it is the same, and is deleted where the steps do not name it.
pub(super) fn extract<R: Read>(
    root: &LockedDirectory,
    list: Option<&ListWriter>,
    former: Option<Former>,
    steps: Steps<'_>,
    first: Option<Item>,
    reader: &mut ArchiveReader<R>,
    progress: &mut ApplyProgress<'_>,
) -> Result<()> {
    let granted = former.as_ref().map(|former| former.granted);
    thread::scope(|scope| {
        let mut extraction = Extraction {
            cursor: root.cursor(),
            writers: Writers::new(scope, root, list, granted),
            last: Vec::new(),
            list,
            former,
            deleted: Vec::new(),
            progress,
            obstacles: HashSet::new(),
        };
        let read = steps.each(first, reader, |step, reader| extraction.step(step, reader));
        // The failure of a thread comes first: the archive is not read on after it.
        let deleted = extraction.record_deletions();
        extraction.writers.finish()?;
        read.and(deleted)?;
        if let Some(former) = extraction.former.take() {
            clear(root, &former.rest, |path| extraction.deleted(path, None))?;
            extraction.record_deletions()?;
        }
        match extraction.obstacles.iter().next() {
            None => Ok(()),
            Some(path) => {
                let obstacle = "'{}' is in the way: the base has something of another kind there";
                Err(Error::fatal(format_bytes(obstacle, &[path])))
            }
        }
    })
}

impl Extraction<'_, '_, '_> {
    fn step<R: Read>(&mut self, step: ApplyStep<'_>, reader: &mut ArchiveReader<R>) -> Result<()> {
        if let ApplyStep::Add(_) = step {
            return Ok(());
        }
        self.progress.entry();
        match step {
            ApplyStep::Add(_) => Ok(()),
            ApplyStep::Delete(path) => {
                let obstacle = self.cursor.delete(&path, path.is_directory())?;
                self.deleted(&path, obstacle)
            }
            ApplyStep::Write(path, kind) => self.write(&path, kind, reader),
        }
    }

    /// Directories are made at once, before the threads come to what is in them.
    fn write<R: Read>(
        &mut self,
        path: &ArchivePath<'_>,
        kind: &ItemKind,
        reader: &mut ArchiveReader<R>,
    ) -> Result<()> {
        if !matches!(kind, ItemKind::Directory { .. }) {
            self.keep_apart(path)?;
        }
        self.make_way(path, kind)?;
        // A later record of a path counts, so that of its deletion comes first.
        self.record_deletions()?;
        match kind {
            ItemKind::Directory { mode } => {
                self.record_directory(path, *mode)?;
                self.cursor.make_directory(path, *mode)?;
            }
            ItemKind::Symlink { target } => {
                let (path, target) = (path.bytes().to_vec(), target.clone());
                self.writers.push(Order::Symlink { path, target });
            }
            ItemKind::File { mode, content } => match content {
                Content::Bytes(size) => self.write_file(path, *mode, *size, reader)?,
                Content::Hole(size) => {
                    let (path, mode, size) = (path.bytes().to_vec(), *mode, *size);
                    self.writers.push(Order::Hole { path, mode, size });
                }
            },
        }
        self.writers.reached(reader.position())?;
        // An empty set, the usual one, would hash the path too.
        if !self.obstacles.is_empty() {
            self.obstacles.remove(path.bytes());
        }
        Ok(())
    }

    fn write_file<R: Read>(
        &mut self,
        path: &ArchivePath<'_>,
        mode: u32,
        size: u64,
        reader: &mut ArchiveReader<R>,
    ) -> Result<()> {
        let bytes = reader.piece()?.unwrap_or_default();
        if bytes.len() as u64 == size {
            let path = path.bytes().to_vec();
            self.writers.push(Order::File { path, mode, bytes });
            return Ok(());
        }
        let mut file = self.writers.begin(path.bytes(), mode, size)?;
        self.writers.piece(&mut file, bytes)?;
        while let Some(piece) = reader.piece()? {
            self.progress.update();
            self.writers.piece(&mut file, piece)?;
            self.writers.reached(reader.position())?;
        }
        self.writers.record(&file.record())
    }

    /// Deletes what is in the way of an entry because it is of another kind. A directory with other permissions is made again.
    fn make_way(&mut self, entry: &ArchivePath<'_>, kind: &ItemKind) -> Result<()> {
        let (Some(former), cursor) = (&mut self.former, &mut self.cursor) else {
            return Ok(());
        };
        let kind = match kind {
            ItemKind::Directory { mode } => {
                if former.differs(cursor, entry, *mode)? {
                    self.writers.finish()?;
                    former.delete(cursor, entry.bytes())?;
                }
                ListedKind::Directory
            }
            _ => ListedKind::Other,
        };
        let above = above(entry.bytes()).map(|path| (path, ListedKind::Directory));
        for (path, kind) in above.chain([(entry.bytes(), kind)]) {
            let found = former.rest.kind(path);
            // What is not listed may be a directory with files that are.
            if found.unwrap_or(ListedKind::Directory) != kind {
                former.delete(cursor, path)?;
            }
            if found.is_some_and(|found| found != kind) {
                former.rest.remove(path);
                if let Look::Nothing = cursor.look(&ArchivePath::of_checked(path))? {
                    let kind = RecordKind::Deleted;
                    PathRecord { path, kind }.push(&mut self.deleted);
                }
            }
        }
        former.rest.remove(entry.bytes());
        Ok(())
    }

    /// Keeps two files of one path from being written at the same time: the later one counts. Paths that ascend, as those
    /// of a tree do, are different ones. Where a path does not ascend, everything before it is written first.
    fn keep_apart(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        if path.bytes() <= &*self.last {
            self.writers.finish()?;
        }
        self.last.clear();
        self.last.extend_from_slice(path.bytes());
        Ok(())
    }

    fn record_directory(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<()> {
        let (path, kind) = (path.bytes(), RecordKind::Directory { mode });
        self.writers.record(&PathRecord { path, kind })
    }

    fn deleted(&mut self, path: &ArchivePath<'_>, obstacle: Option<Vec<u8>>) -> Result<()> {
        if obstacle.as_deref() != Some(path.bytes()) {
            let (path, kind) = (path.bytes(), RecordKind::Deleted);
            PathRecord { path, kind }.push(&mut self.deleted);
        }
        self.obstacles.extend(obstacle);
        if self.deleted.len() < DELETED_LEN {
            Ok(())
        } else {
            self.record_deletions()
        }
    }

    fn record_deletions(&mut self) -> Result<()> {
        if let Some(list) = self.list
            && !self.deleted.is_empty()
        {
            list.append(&self.deleted)?;
        }
        self.deleted.clear();
        Ok(())
    }
}
