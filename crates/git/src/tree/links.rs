//! Detects symbolic links in a tree through which other entries would be extracted.
//!
//! A tree that git wrote contains none: its names are unique and contain no slash. A forged tree may
//! contain a link `a` to another place and then a file `a/b`, and many extractors would follow the link.
//! git does not check this. All other oddities of a tree pass, as in git.
//!
//! Two overlapping paths branch off in one tree, at overlapping names. So a check of this tree and of
//! everything below it suffices. The decision depends on nothing else: threads that walk different parts of
//! a tree all refuse it at the same entry.

use std::{collections::HashSet, hash::BuildHasher};

use bstr::ByteSlice;
use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;
use rustc_hash::FxBuildHasher;

use super::entry::{Mode, entries};
use crate::objects::reader::Reader;
use sluice_base::buffer::Buffer;

/// The most trees remembered as free of links. Only forged trees are checked.
const MAX_LINKLESS: usize = 1 << 17;

/// The names found so far in one tree.
#[derive(Clone, Default)]
pub(super) struct Seen {
    /// Hashes of the names of links: there may be many names. A collision only refuses a forged tree.
    links: HashSet<u64, FxBuildHasher>,
    /// Hashes of the names of directories.
    directories: HashSet<u64, FxBuildHasher>,
}

/// The relation of a name to the earlier names of its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClash {
    /// The name overlaps no earlier name.
    None,
    /// The name may lie on the path of another entry.
    Overlap,
    /// The name is that of an earlier link.
    Link,
}

impl Seen {
    /// Record an entry, and return how its name relates to the earlier names.
    pub(super) fn see(&mut self, name: &[u8], mode: Mode) -> NameClash {
        let comes_twice = match mode {
            Mode::Symlink => {
                self.links.insert(FxBuildHasher.hash_one(name));
                false
            }
            _ if self.has_link(name) => return NameClash::Link,
            Mode::Directory => !self.directories.insert(FxBuildHasher.hash_one(name)),
            _ => false,
        };
        if comes_twice || name.find_byte(b'/').is_some() {
            NameClash::Overlap
        } else {
            NameClash::None
        }
    }

    /// Whether an earlier link has this name.
    fn has_link(&self, name: &[u8]) -> bool {
        !self.links.is_empty() && self.links.contains(&FxBuildHasher.hash_one(name))
    }
}

/// Whether `tree` or a tree below it contains a symbolic link, archived or not. Trees without links are
/// added to `linkless`, and not read again. An unreadable tree counts as free of links. If `linkless` is
/// full, the tree counts as containing a link.
pub(super) fn holds_link(
    reader: &mut Reader,
    tree: ObjectId,
    linkless: &mut HashSet<ObjectId>,
) -> bool {
    let mut unread = vec![tree];
    let mut content = Buffer::default();
    while let Some(tree) = unread.pop() {
        if linkless.len() >= MAX_LINKLESS {
            return true;
        }
        let is_known = !linkless.insert(tree);
        if is_known || !matches!(reader.read(&tree, &mut content), Ok(Some(ObjectKind::Tree))) {
            continue;
        }
        for (_, entry) in entries(&content, 0, tree.kind()) {
            match entry.mode {
                Mode::Symlink => return true,
                Mode::Directory => unread.push(ObjectId::from_bytes_or_panic(entry.id)),
                _ => {}
            }
        }
    }
    false
}
