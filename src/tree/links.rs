//! Symbolic links in a tree that other entries would be extracted through.
//!
//! A tree that git wrote cannot be extracted so: no name comes twice in it, and none holds a slash. A
//! forged one may bring a link `a` to somewhere else and then a file `a/b`, and many readers of archives
//! would follow the link. git does not look. Whatever else is odd about a tree passes, as it does there.
//!
//! Two entries of overlapping paths part in one tree, by names that overlap in it. So it is enough to look
//! at that tree and at what is below it. What is decided depends on nothing else: threads that walk
//! different parts of a tree all refuse it at the same entry.

use std::{collections::HashSet, hash::BuildHasher};

use gix::{ObjectId, bstr::ByteSlice, objs::Kind as ObjectKind};
use rustc_hash::FxBuildHasher;

use super::entry::{Mode, entries};
use crate::{buffer::Buffer, decode::reader::Reader};

/// Trees that are remembered to hold no link. Only forged trees make us look.
const MAX_LINKLESS: usize = 1 << 17;

/// The names that came up so far in one tree.
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
    /// Note an entry, and tell what was seen of its name before.
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
        match comes_twice || name.find_byte(b'/').is_some() {
            true => NameClash::Overlap,
            false => NameClash::None,
        }
    }

    /// Whether a link of that name was seen.
    fn has_link(&self, name: &[u8]) -> bool {
        !self.links.is_empty() && self.links.contains(&FxBuildHasher.hash_one(name))
    }
}

/// Whether there is a symbolic link in `tree` or below it, sent or not. Trees in which there is none are
/// added to `linkless`, and not read again. What cannot be read holds none; where there are too many trees to
/// remember, one is taken to hold a link.
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
