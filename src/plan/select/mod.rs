//! What goes into the archive, by path: pathspecs, the current directory, `export-ignore`.
//!
//! Asked of a directory before it is read: what is left out costs nothing. The same attribute
//! look-up says how a file's content is treated.

pub mod attributes;
pub mod pathspec;
pub mod verify;

use gix::{ObjectId, bstr::BString};

use super::trees::{Found, Rules, Trees};
use crate::{
    convert::Treatment,
    decode::reader::Reader,
    emit::Kind,
    error::{Error, Result},
};
use attributes::Attributes;
use pathspec::Pathspecs;

/// Decides what is archived.
pub struct Selection {
    /// Only what is below this directory (empty, or with a slash at its end).
    pub below: BString,
    /// What the user asked for.
    pub pathspecs: Pathspecs,
    /// What the tree says of itself.
    pub attributes: Attributes,
    /// The same for conversions alone, by paths from `below`, if that is not the root.
    pub relative: Option<Attributes>,
}

impl Selection {
    /// Whether the directory `path` (without slash at its end) is to be read.
    pub fn directory(&mut self, path: &[u8]) -> bool {
        let on_the_way = self.below.starts_with(path) && self.below.get(path.len()) == Some(&b'/');
        (on_the_way || path.starts_with(&self.below))
            && self.pathspecs.descend(path)
            && !self.attributes.ignores(path, true)
    }

    /// Whether the entry at `path`, which is no directory of the tree, was asked for. A submodule is
    /// of the kind of a directory.
    pub fn admits(&self, path: &[u8], kind: Kind) -> bool {
        path.starts_with(&self.below) && self.pathspecs.select(path, kind == Kind::Directory)
    }

    /// How an entry that was asked for is treated; nothing if the tree keeps it out of archives.
    pub fn treatment(&mut self, path: &[u8], kind: Kind) -> Result<Option<Treatment>> {
        match kind {
            Kind::File | Kind::Executable => {
                let treatment = self.attributes.treatment(path)?;
                match (treatment, &mut self.relative) {
                    (Some(treatment), Some(relative)) => Ok(Some(Treatment {
                        substitute: treatment.substitute,
                        ..relative.conversion(&path[self.below.len()..])?
                    })),
                    (treatment, _) => Ok(treatment),
                }
            }
            _ if self.attributes.ignores(path, kind == Kind::Directory) => Ok(None),
            _ => Ok(Some(Treatment::default())),
        }
    }

    /// Leave the directory entered last.
    pub fn leave(&mut self) {
        self.attributes.leave();
        if let Some(relative) = &mut self.relative {
            relative.leave();
        }
    }

    /// Fail in git's words for the first pathspec that matches nothing in all of `tree`, or
    /// something outside of the directory that is archived.
    pub fn check(&self, tree: ObjectId, rules: Rules, reader: &mut Reader) -> Result<()> {
        for spec in self.pathspecs.iter() {
            let mut trees = Trees::new(tree, rules);
            let mut path = Vec::new();
            let mut matched = false;
            trees.enter(reader, tree, 0)?;
            while let Some(found) = trees.next(&mut path)? {
                let (hit, is_leaf) = match found {
                    Found::End => continue,
                    Found::Directory(id) => {
                        if spec.exclude || spec.may_match_below(&path) {
                            trees.enter(reader, id, path.len())?;
                        }
                        (spec.matches(&path, true), false)
                    }
                    Found::Leaf { kind, .. } => {
                        (spec.matches(&path, kind == Kind::Directory), true)
                    }
                };
                if hit && is_leaf && !spec.exclude && !path.starts_with(&self.below) {
                    return Err(Error::fatal(format!(
                        "pathspec '{}' matches files outside the current directory",
                        spec.given
                    )));
                }
                matched |= hit != spec.exclude;
                if matched && self.below.is_empty() {
                    break;
                }
            }
            if !matched {
                let given = &spec.given;
                return Err(Error::fatal(format!(
                    "pathspec '{given}' did not match any files"
                )));
            }
        }
        Ok(())
    }
}
