//! Selects the archived paths by pathspecs, the current directory and `export-ignore`.
//!
//! The walk asks about a directory before reading, so an excluded directory costs nothing. The same attribute
//! look-up yields the treatment of a file's content.

mod check;
mod copied;

pub use check::Findings;
pub use copied::CopiedPaths;

use std::sync::Arc;

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use sluice_base::error::Result;
use sluice_git::{
    attributes::{self, Attributes, Note, Requirements},
    convert::Treatment,
    objects::reader::Reader,
    pathspec::Pathspecs,
    tree::{Mode, Mount, Trees, file_at},
};

/// Decides which paths are archived.
#[derive(Clone)]
pub struct Selection {
    /// The archived directory (empty for the root, or with a slash at its end).
    pub below: BString,
    /// The place of the tree, whose paths pathspecs see in the archived tree.
    pub mount: Mount,
    /// The user's pathspecs.
    pub pathspecs: Arc<Pathspecs>,
    /// The attributes of the tree.
    pub attributes: Attributes,
    /// The attributes for conversions, by paths from `below`; `None` if `below` is the root.
    pub relative: Option<Attributes>,
    /// The attributes of copies, if copies take the place of links.
    pub copied: Option<Box<CopiedPaths>>,
}

impl Selection {
    /// Whether the attribute files of the entered directories have no complaint.
    pub fn is_silent(&self) -> bool {
        let relative = self.relative.as_ref();
        self.attributes.is_silent() && relative.is_none_or(Attributes::is_silent)
    }

    /// Whether entries below the directory `path` (without slash at its end) may be asked for.
    pub fn reaches(&self, path: &[u8]) -> bool {
        let on_the_way = self.below.starts_with(path) && self.below.get(path.len()) == Some(&b'/');
        (on_the_way || path.starts_with(&self.below))
            && self.pathspecs.descend(&self.mount.path(path))
    }

    /// Whether the directory `path` is to be read.
    pub fn directory(&mut self, path: &[u8]) -> bool {
        self.reaches(path) && !self.ignores(path)
    }

    /// Whether `export-ignore` excludes the directory `path`.
    pub fn ignores(&mut self, path: &[u8]) -> bool {
        self.attributes.ignores(path, true) || self.copied_ignores(path, Mode::Directory)
    }

    fn copied_ignores(&mut self, path: &[u8], mode: Mode) -> bool {
        let copied = self.copied.as_mut();
        copied.is_some_and(|copied| copied.ignores(path, mode))
    }

    /// Whether the file, link or submodule at `path` is selected. A submodule counts as a directory.
    pub fn admits(&mut self, path: &[u8], mode: Mode) -> Result<bool> {
        if !path.starts_with(&self.below) {
            return Ok(false);
        }
        let meets = |required: &Requirements| self.attributes.meets(required, path, Some(mode));
        if let Some(copied) = &mut self.copied {
            copied.take_failure()?;
        }
        let full = self.mount.path(path);
        self.pathspecs.select(&full, mode.is_directory(), meets)
    }

    /// The treatment of a selected entry; `None` if `export-ignore` excludes the entry.
    pub fn treatment(&mut self, path: &[u8], mode: Mode) -> Option<Treatment> {
        let is_file = matches!(mode, Mode::File | Mode::Executable);
        let treatment = if is_file {
            self.attributes.treatment(path)
        } else if self.attributes.ignores(path, mode.is_directory()) {
            None
        } else {
            Some(Treatment::default())
        };
        let treatment = treatment?;
        if let Some(copied) = &mut self.copied {
            let of_original = if is_file {
                copied.treatment(path, mode)
            } else if copied.ignores(path, mode) {
                Some(None)
            } else {
                None
            };
            if let Some(of_original) = of_original {
                return of_original;
            }
        }
        let (attributes, path) = match &mut self.relative {
            Some(relative) => (relative, &path[self.below.len()..]),
            None => (&mut self.attributes, path),
        };
        Some(match mode {
            Mode::Submodule | Mode::Directory => treatment,
            Mode::Symlink => Treatment {
                text: attributes.text(path),
                ..treatment
            },
            Mode::File | Mode::Executable if self.below.is_empty() => treatment,
            Mode::File | Mode::Executable => Treatment {
                substitute: treatment.substitute,
                ..attributes.conversion(path)
            },
        })
    }

    /// Enter the directory `path`, which `trees` entered last, of the archived `tree`.
    pub fn enter(
        &mut self,
        reader: &mut Reader,
        trees: &Trees,
        tree: ObjectId,
        path: &[u8],
    ) -> Result<()> {
        if let Some(copied) = &mut self.copied {
            copied.take_failure()?;
        }
        self.attributes
            .enter(reader, path, |_| Ok(trees.attribute_file()))?;
        self.enter_relative(reader, tree, path)
    }

    /// In a sub-directory of the work tree, git looks up conversions by the path from the sub-directory, and reads
    /// the attribute files that this path names from the root. The archive's bytes depend on this oddity.
    fn enter_relative(&mut self, reader: &mut Reader, tree: ObjectId, path: &[u8]) -> Result<()> {
        let Some(attributes) = &mut self.relative else {
            return Ok(());
        };
        let inside = path.len() + 1 >= self.below.len() && !path.is_empty();
        if !inside {
            attributes.skip();
            return Ok(());
        }
        let path = path.get(self.below.len()..).unwrap_or_default();
        attributes.enter(reader, path, |reader| {
            file_at(reader, tree, tree.kind(), path, attributes::NAME)
        })
    }

    /// Leave the directory entered last.
    pub fn leave(&mut self) {
        self.attributes.leave();
        if let Some(relative) = &mut self.relative {
            relative.leave();
        }
    }

    /// Take the text to print around the name of the next entry.
    pub fn note(&mut self) -> Note {
        let mut note = self.attributes.note();
        if let Some(relative) = &mut self.relative {
            // The relative look-up decides about conversions.
            note.after = relative.note().after;
        }
        note
    }

    /// Whether the extra file at `path`, outside of the archived `tree`, is text; `None` if its content decides.
    /// No directory may be entered at the time of the call.
    pub fn text_of(
        &mut self,
        reader: &mut Reader,
        tree: ObjectId,
        path: &[u8],
    ) -> Result<Option<bool>> {
        let attributes = self.relative.as_mut().unwrap_or(&mut self.attributes);
        let slashes = path.find_iter(b"/").map(|slash| &path[..slash]);
        for directory in std::iter::once(&b""[..]).chain(slashes) {
            attributes.enter(reader, directory, |reader| {
                file_at(reader, tree, tree.kind(), directory, attributes::NAME)
            })?;
        }
        let text = attributes.text(path);
        attributes.reset();
        Ok(text)
    }
}
