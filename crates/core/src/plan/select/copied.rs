//! The attributes of copies: those of the paths that they are copies of, as if somebody followed the links after a check-out.

use std::sync::Arc;

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use sluice_base::error::{Error, Result};
use sluice_git::{
    attributes::{self, Attributes},
    convert::Treatment,
    objects::reader::Reader,
    tree::{Copies, KeptLink, Mode, file_at},
};

/// Looks up the attributes of copies.
pub struct CopiedPaths {
    /// Where copies come from.
    pub copies: Arc<Copies>,
    /// The tree without copies.
    root: ObjectId,
    reader: Reader,
    attributes: Attributes,
    /// The directory whose attribute files apply.
    at: Option<BString>,
    /// Whether `export-ignore` excludes it, or a directory above it.
    is_ignored: bool,
    /// The failure to read an attribute file, until somebody can report it.
    failure: Option<Error>,
    /// Whether reasons of links that stay may be reported.
    tells_reasons: bool,
}

/// A copy for another thread. It reads attribute files again.
impl Clone for CopiedPaths {
    fn clone(&self) -> Self {
        let mut attributes = self.attributes.clone();
        attributes.reset();
        Self {
            copies: Arc::clone(&self.copies),
            root: self.root,
            reader: self.reader.clone(),
            attributes,
            at: None,
            is_ignored: false,
            failure: None,
            tells_reasons: self.tells_reasons,
        }
    }
}

impl CopiedPaths {
    /// For `copies` of the tree `root`, with the files outside of the tree that `attributes` has, which has entered no directory.
    pub fn new(
        copies: Arc<Copies>,
        (root, reader): (ObjectId, Reader),
        attributes: Attributes,
        tells_reasons: bool,
    ) -> Self {
        Self {
            copies,
            root,
            reader,
            attributes,
            at: None,
            is_ignored: false,
            failure: None,
            tells_reasons,
        }
    }

    /// The failure of an earlier look-up.
    pub fn take_failure(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Whether the entry at `path` is a copy of something that `export-ignore` excludes.
    pub fn ignores(&mut self, path: &[u8], mode: Mode) -> bool {
        let originals = self.copies.originals(path, mode == Mode::Symlink);
        let Some((original, links)) = originals.split_last() else {
            return false;
        };
        self.ignores_any(links) || self.ignores_stored(original, mode.is_directory())
    }

    /// The treatment of the file at `path`, if it is a copy. The inner `None` is that of a file that `export-ignore` excludes.
    pub fn treatment(&mut self, path: &[u8], mode: Mode) -> Option<Option<Treatment>> {
        let originals = self.copies.originals(path, mode == Mode::Symlink);
        let (original, links) = originals.split_last()?;
        if self.ignores_any(links) || self.is_below_ignored(original) {
            return Some(None);
        }
        Some(self.attributes.treatment(original))
    }

    /// Why the link at `path` stays one, if that may be reported.
    pub fn kept(&self, path: &[u8]) -> Option<KeptLink> {
        self.copies.kept(path).filter(|_| self.tells_reasons)
    }

    fn ignores_any(&mut self, links: &[BString]) -> bool {
        links.iter().any(|link| self.ignores_stored(link, false))
    }

    /// Whether `export-ignore` excludes the stored entry at `path`, or a directory above it.
    fn ignores_stored(&mut self, path: &[u8], is_directory: bool) -> bool {
        self.is_below_ignored(path) || self.attributes.ignores(path, is_directory)
    }

    /// Goes to the directory of the stored entry at `path`. Returns whether `export-ignore` excludes that directory or one above.
    fn is_below_ignored(&mut self, path: &[u8]) -> bool {
        let slash = path.rfind_byte(b'/').unwrap_or(0);
        if let Err(error) = self.go_to(&path[..slash]) {
            self.failure.get_or_insert(error);
        }
        self.is_ignored
    }

    /// Enters `directory` from the root, as a walk does. As a walk does, it enters no directory that is excluded.
    fn go_to(&mut self, directory: &[u8]) -> Result<()> {
        if self.at.as_deref().is_some_and(|at| at == directory) {
            return Ok(());
        }
        self.at = None;
        self.is_ignored = false;
        self.attributes.reset();
        let root = self.root;
        let slashes = directory.find_iter(b"/").map(|slash| &directory[..slash]);
        let above = std::iter::once(&b""[..]).chain(slashes);
        let own = (!directory.is_empty()).then_some(directory);
        for directory in above.chain(own) {
            if !directory.is_empty() && self.attributes.ignores(directory, true) {
                self.is_ignored = true;
                break;
            }
            self.attributes
                .enter(&mut self.reader, directory, |reader| {
                    file_at(reader, root, root.kind(), directory, attributes::NAME)
                })?;
        }
        self.at = Some(directory.into());
        Ok(())
    }
}
