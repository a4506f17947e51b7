//! What goes into the archive, by path: pathspecs, the current directory, `export-ignore`.
//!
//! Asked of a directory before it is read: what is left out costs nothing. The same attribute
//! look-up says how a file's content is treated.

mod check;

use std::sync::Arc;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use crate::{
    attributes::{self, Attributes, Note},
    convert::Treatment,
    decode::reader::Reader,
    emit::MemberKind,
    error::Result,
    pathspec::Pathspecs,
    tree::{Trees, file_at},
};

/// Decides what is archived.
#[derive(Clone)]
pub struct Selection {
    /// Only what is below this directory (empty, or with a slash at its end).
    pub below: BString,
    /// What the user asked for.
    pub pathspecs: Arc<Pathspecs>,
    /// What the tree says of itself.
    pub attributes: Attributes,
    /// The same for conversions alone, by paths from `below`, if that is not the root.
    pub relative: Option<Attributes>,
}

impl Selection {
    /// Whether there is nothing to complain of in the directories that were entered.
    pub fn is_silent(&self) -> bool {
        let relative = self.relative.as_ref();
        self.attributes.is_silent() && relative.is_none_or(Attributes::is_silent)
    }

    /// Whether the directory `path` (without slash at its end) is to be read.
    pub fn directory(&mut self, path: &[u8]) -> bool {
        let on_the_way = self.below.starts_with(path) && self.below.get(path.len()) == Some(&b'/');
        (on_the_way || path.starts_with(&self.below))
            && self.pathspecs.descend(path)
            && !self.attributes.ignores(path, true)
    }

    /// Whether the entry at `path`, which is no directory of the tree, was asked for. A submodule is
    /// of the kind of a directory.
    pub fn admits(&mut self, path: &[u8], kind: MemberKind) -> bool {
        let attributes = &mut self.attributes;
        path.starts_with(&self.below)
            && self
                .pathspecs
                .select(path, kind == MemberKind::Directory, |required| {
                    attributes.meets(required, path, Some(kind))
                })
    }

    /// How an entry that was asked for is treated; nothing if the tree keeps it out of archives.
    pub fn treatment(&mut self, path: &[u8], kind: MemberKind) -> Option<Treatment> {
        let is_file = matches!(kind, MemberKind::File | MemberKind::Executable);
        let treatment = match is_file {
            true => self.attributes.treatment(path),
            false if self.attributes.ignores(path, kind == MemberKind::Directory) => None,
            false => Some(Treatment::default()),
        };
        let treatment = treatment?;
        let (attributes, path) = match &mut self.relative {
            Some(relative) => (relative, &path[self.below.len()..]),
            None => (&mut self.attributes, path),
        };
        Some(match kind {
            MemberKind::Directory => treatment,
            MemberKind::Symlink => Treatment {
                text: attributes.text(path),
                ..treatment
            },
            MemberKind::File | MemberKind::Executable if self.below.is_empty() => treatment,
            MemberKind::File | MemberKind::Executable => Treatment {
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
        self.attributes
            .enter(reader, path, |_| Ok(trees.attribute_file()))?;
        self.enter_relative(reader, tree, path)
    }

    /// In a sub-directory of the work tree, git looks conversions up by the path from there, and in
    /// the attribute files that this path leads to from the root: not its best idea, but its bytes.
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

    /// What is to be said before and after the name of the next entry.
    pub fn note(&mut self) -> Note {
        let mut note = self.attributes.note();
        if let Some(relative) = &mut self.relative {
            // There the conversion is looked up in earnest.
            note.after = relative.note().after;
        }
        note
    }

    /// Whether the file at `path`, which is not of the archived `tree`, counts as text, if attributes
    /// say so. To be asked when no directory is entered.
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
