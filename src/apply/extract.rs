//! Applies the steps of an archive to the directory, one after the other.
//!
//! A repeated application from the start has the same result, however much an earlier one has done.
//! Therefore a path to be deleted may be missing, and content of the archive may exist already, perhaps of
//! another type than the deleted path, or in place of a directory. Nothing else is tolerated: an obstacle
//! to a deletion must be an entry of this archive.

use std::{
    collections::HashSet,
    io::{BufRead, Write},
};

use crate::error::{Error, Result, filled, listed, push_line};

use super::{
    delta::Claim,
    path::ArchivePath,
    reader::{Content, Item, ItemKind, Reader},
    steps::{Step, Steps},
    tree::{Tree, failed},
};

/// An application in progress.
pub(super) struct Extraction<'a> {
    tree: &'a mut Tree,
    /// Receives a line about each path.
    told: Option<&'a mut (dyn Write + 'static)>,
    /// Obstacles to deletions, until the archive writes their paths.
    obstacles: HashSet<Vec<u8>>,
}

impl<'a> Extraction<'a> {
    pub(super) fn new(tree: &'a mut Tree, told: Option<&'a mut (dyn Write + 'static)>) -> Self {
        Self {
            tree,
            told,
            obstacles: HashSet::new(),
        }
    }

    /// Apply the steps of `first`, then those of `reader`.
    pub(super) fn run<R: BufRead>(
        mut self,
        claim: &Claim,
        first: Option<Item>,
        reader: &mut Reader<R>,
    ) -> Result<()> {
        Steps::new(claim).each(first, reader, |step, reader| match step {
            Step::Delete(path) => {
                let obstacle = self.tree.delete(&path)?;
                self.deleted(&path, obstacle);
                Ok(())
            }
            Step::DeleteAll(path) => {
                let obstacle = self.tree.delete_all(&path)?;
                self.deleted(&path, obstacle);
                Ok(())
            }
            Step::Write(path, kind) => self.write(&path, kind, reader),
        })?;
        match self.obstacles.iter().next() {
            None => Ok(()),
            Some(path) => {
                let obstacle = "'{}' is in the way: the base has something of another kind there";
                Err(Error::fatal(filled(obstacle, &[path])))
            }
        }
    }

    fn write<R: BufRead>(
        &mut self,
        path: &ArchivePath<'_>,
        kind: &ItemKind,
        reader: &mut Reader<R>,
    ) -> Result<()> {
        match kind {
            ItemKind::Directory { mode } => self.tree.make_directory(path, *mode)?,
            ItemKind::Symlink { target } => self.tree.create_symlink(path, target)?,
            ItemKind::File { mode, content } => {
                let mut file = self.tree.create_file(path, *mode)?;
                let failed = |error| failed("write", path.bytes(), error);
                match content {
                    Content::Hole(size) => file.set_len(*size).map_err(failed)?,
                    Content::Bytes(_) => {
                        reader.body(|piece| file.write_all(piece).map_err(failed))?;
                    }
                }
            }
        }
        self.obstacles.remove(path.bytes());
        self.tell("write", path);
        Ok(())
    }

    fn deleted(&mut self, path: &ArchivePath<'_>, obstacle: Option<Vec<u8>>) {
        self.obstacles.extend(obstacle);
        self.tell("delete", path);
    }

    /// Report a path. As in git, a failed report is ignored.
    fn tell(&mut self, what: &str, path: &ArchivePath<'_>) {
        if let Some(told) = &mut self.told {
            let mut line = Vec::new();
            push_line(
                &mut line,
                "",
                &filled("{} {}", &[what.as_bytes(), &listed(path.bytes())]),
            );
            let _ = told.write_all(&line);
        }
    }
}
