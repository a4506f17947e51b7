//! The steps of an archive, done in the directory one after the other.
//!
//! Done again from the start, after whatever has been done of it, it comes to the same end. So what
//! was to be deleted may be gone, and what the archive brings may be there already, perhaps as
//! something of another kind than what was to be deleted, or in a directory's place. That is all that
//! is let pass: what stands where something was to be deleted has to come from this archive.

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

/// An archive on its way into a directory.
pub(super) struct Extraction<'a> {
    tree: &'a mut Tree,
    /// Whom to tell about each path.
    told: Option<&'a mut (dyn Write + 'static)>,
    /// What stands where something was to be deleted, until the archive brings it.
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

    /// Do it all: `first`, then what `reader` has.
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

    /// As with git, nobody has to listen.
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
