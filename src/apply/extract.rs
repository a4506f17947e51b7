//! The items of an archive, done to the directory one after the other: first what it deletes, then
//! what it brings.
//!
//! Done again from the start, after whatever has been done of it, it comes to the same end. So what
//! was to be deleted may be gone, and what the archive brings may be there already, perhaps as
//! something of another kind than what was to be deleted, or in a directory's place. That is all that
//! is let pass: what stands where something was to be deleted has to come from this archive.

use std::{
    collections::HashSet,
    io::{BufRead, Write},
};

use crate::error::{Error, Result, sanitised};

use super::{
    delta::{Claim, deletions},
    path::ArchivePath,
    reader::{Content, Entry, Item, Kind, Reader, damaged},
    tree::{Tree, failed},
};

/// An archive on its way into a directory.
pub(super) struct Extraction<'a> {
    tree: &'a mut Tree,
    claim: &'a Claim,
    /// Whom to tell about each path.
    told: Option<&'a mut (dyn Write + 'static)>,
    /// Deletions are over.
    brings: bool,
    /// What stands where something was to be deleted, until the archive brings it.
    obstacles: HashSet<Vec<u8>>,
}

impl<'a> Extraction<'a> {
    pub(super) fn new(
        tree: &'a mut Tree,
        claim: &'a Claim,
        told: Option<&'a mut (dyn Write + 'static)>,
    ) -> Self {
        Self {
            tree,
            claim,
            told,
            brings: false,
            obstacles: HashSet::new(),
        }
    }

    /// Do it all: `first`, then what `reader` has.
    pub(super) fn run<R: BufRead>(
        mut self,
        first: Option<Item>,
        reader: &mut Reader<R>,
    ) -> Result<()> {
        let mut next = first;
        while let Some(item) = next {
            match item {
                Item::Global(header) => self.global(&header)?,
                Item::Entry(entry) => self.entry(entry, reader)?,
            }
            next = reader.next()?;
        }
        match self.obstacles.iter().next() {
            None => Ok(()),
            Some(path) => {
                let path = sanitised(path);
                Err(Error::fatal(format!(
                    "'{path}' is in the way: the base has something of another kind there"
                )))
            }
        }
    }

    fn global(&mut self, header: &[u8]) -> Result<()> {
        if self.brings || self.claim.whiteouts || self.claim.base.is_none() {
            return Err(damaged("a global header where none may be"));
        }
        for path in deletions(header) {
            let path = ArchivePath::new(path?)?;
            let obstacle = self.tree.delete(&path)?;
            self.deleted(&path, obstacle);
        }
        Ok(())
    }

    fn entry<R: BufRead>(&mut self, entry: Entry, reader: &mut Reader<R>) -> Result<()> {
        let path = match entry.kind {
            Kind::Symlink { .. } => ArchivePath::of_symlink(&entry.path)?,
            _ => ArchivePath::new(&entry.path)?,
        };
        if self.claim.whiteouts
            && let Some(hidden) = path.whiteout()?
        {
            return self.whiteout(&hidden, &entry.kind);
        }
        self.brings = true;
        match entry.kind {
            Kind::Directory => self.tree.make_directory(&path)?,
            _ if path.is_directory() => {
                return Err(damaged(
                    "something that is no directory has a directory's path",
                ));
            }
            Kind::Symlink { target } => self.symlink(&path, &target)?,
            Kind::File {
                executable,
                content,
            } => {
                let mut file = self.tree.create_file(&path, executable)?;
                let failed = |error| failed("write", path.bytes(), error);
                match content {
                    Content::Hole(size) => file.set_len(size).map_err(failed)?,
                    Content::Bytes(_) => {
                        reader.body(|piece| file.write_all(piece).map_err(failed))?;
                    }
                }
            }
        }
        self.obstacles.remove(path.bytes());
        self.tell("write", &path);
        Ok(())
    }

    fn symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        if target.is_empty() || target.contains(&0) {
            return Err(damaged("a symbolic link has no sound target"));
        }
        self.tree.create_symlink(path, target)
    }

    fn whiteout(&mut self, hidden: &[u8], kind: &Kind) -> Result<()> {
        let is_empty = matches!(
            kind,
            Kind::File {
                content: Content::Bytes(0),
                ..
            }
        );
        if self.brings || !is_empty {
            return Err(damaged("a whiteout where none may be"));
        }
        let path = ArchivePath::new(hidden)?;
        let obstacle = self.tree.delete_all(&path)?;
        self.deleted(&path, obstacle);
        Ok(())
    }

    fn deleted(&mut self, path: &ArchivePath<'_>, obstacle: Option<Vec<u8>>) {
        self.obstacles.extend(obstacle);
        self.tell("delete", path);
    }

    /// As with git, nobody has to listen.
    fn tell(&mut self, what: &str, path: &ArchivePath<'_>) {
        if let Some(told) = &mut self.told {
            let _ = writeln!(told, "{what} {}", sanitised(path.bytes()));
        }
    }
}
