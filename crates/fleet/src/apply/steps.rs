//! The steps of an archive: first the deletions, then the new entries.
//!
//! This module checks every name, type and position in the archive without a look at the directory. So an
//! archive can be checked to its end before the first step is applied.

use std::io::Read;

use sluice_base::error::Result;

use super::{
    delta::{ArchiveHeader, ListedPath, listed_paths},
    input::unfit,
    path::ArchivePath,
    reader::{ArchiveEntry, ArchiveReader, Item, ItemKind},
};

/// One operation on the directory, or what the archive says before.
pub(super) enum ApplyStep<'a> {
    /// Delete a file, a symbolic link or an empty directory.
    Delete(ArchivePath<'a>),
    /// The base of a delta lacks the path, or may lack it. Changes nothing.
    Add(ArchivePath<'a>),
    /// Write the entry. The content of a file is read separately.
    Write(ArchivePath<'a>, &'a ItemKind),
}

/// The steps of one archive.
pub(super) struct Steps<'c> {
    claim: &'c ArchiveHeader,
    /// Whether the first entry that is no deletion was read.
    brings: bool,
}

impl<'c> Steps<'c> {
    pub(super) fn new(claim: &'c ArchiveHeader) -> Self {
        Self {
            claim,
            brings: false,
        }
    }

    /// Call `take` for each step: those of `first`, then those of `reader`.
    pub(super) fn each<R: Read>(
        mut self,
        first: Option<Item>,
        reader: &mut ArchiveReader<R>,
        mut take: impl FnMut(ApplyStep<'_>, &mut ArchiveReader<R>) -> Result<()>,
    ) -> Result<()> {
        let mut next = first;
        while let Some(item) = next {
            let mut take = |step: ApplyStep<'_>| take(step, reader);
            match item {
                Item::Global(header) => self.global(&header, take)?,
                Item::Entry(entry) => self.entry(&entry, &mut take)?,
            }
            next = reader.next()?;
        }
        Ok(())
    }

    fn global(
        &self,
        header: &[u8],
        mut take: impl FnMut(ApplyStep<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.brings || self.claim.base.is_none() {
            return Err(unfit("an unexpected global header"));
        }
        for path in listed_paths(header) {
            take(match path? {
                ListedPath::Deleted(path) => ApplyStep::Delete(ArchivePath::new(path)?),
                ListedPath::Added(path) => ApplyStep::Add(ArchivePath::new(path)?),
            })?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &ArchiveEntry,
        take: impl FnOnce(ApplyStep<'_>) -> Result<()>,
    ) -> Result<()> {
        let path = match entry.kind {
            ItemKind::Symlink { .. } => ArchivePath::of_symlink(&entry.path)?,
            _ => ArchivePath::new(&entry.path)?,
        };
        self.brings = true;
        match &entry.kind {
            ItemKind::Directory { .. } => {}
            _ if path.is_directory() => {
                return Err(path.refused("is a file, but its path ends in '/'"));
            }
            ItemKind::Symlink { target } => path.check_target(target)?,
            ItemKind::File { .. } => {}
        }
        if let Some(doubt) = entry.doubt {
            return Err(unfit(doubt));
        }
        take(ApplyStep::Write(path, &entry.kind))
    }
}
