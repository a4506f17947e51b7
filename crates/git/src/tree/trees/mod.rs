//! Reads trees one entry at a time, depth first, in the order of their entries.
//!
//! The walk keeps its own stack, with git's limit on depth, so that no tree can exhaust the process's stack.
//! The trees on the stack stay within a share of the budget: above the share the walk drops outer trees and
//! reads them again on the way back. A tree is dropped only after as many bytes of trees were read below it, so that
//! reading it again never costs more than the walk has cost since. At most twice the bytes of the largest tree stay
//! in addition to the innermost one. Every name is verified before a caller sees it. The walk decides nothing.

mod fork;
mod frame;
mod memory;

use std::{
    collections::HashSet,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::Kind as ObjectKind;

use crate::{
    objects::reader::Reader,
    tree::{
        entry::{Mode, TreeEntry, entries},
        links::{NameClash, Seen, holds_link},
    },
};
use frame::Frame;
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes},
    name::{Protect, is_valid},
};

/// The longest path in bytes that a message shows in full.
const MAX_SHOWN: usize = 4096;

/// The rules of reading trees.
#[derive(Clone, Copy, Debug)]
pub struct TreeRules {
    /// The hash that names objects.
    pub hash: HashKind,
    /// The names to refuse, if the whole tree is verified as for a checkout.
    pub protect: Option<Protect>,
    /// `core.maxTreeDepth`
    pub max_depth: usize,
    /// The budget in bytes for the trees between the root and the current path. The innermost tree is always
    /// held, and so are trees below which less was read than they are long.
    pub max_held: usize,
    /// Failures name no path and no object below the root: the reader may not know all of the tree.
    pub redacted: bool,
}

/// The trees between the root and the current path.
pub struct Trees {
    root: ObjectId,
    rules: TreeRules,
    stack: Vec<Frame>,
    spare: Vec<Buffer>,
    /// Trees without links, found by an earlier search.
    linkless: HashSet<ObjectId>,
    /// The bytes of all held trees, summed over the walks that share a root by division.
    held: Arc<AtomicUsize>,
    /// The bytes of all trees that this walk has read.
    read: usize,
}

/// One step of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeStep {
    /// A directory, not entered yet.
    Directory(ObjectId),
    /// A file, link or submodule. A submodule is a directory in the archive.
    Leaf {
        /// The entry's mode.
        mode: Mode,
        /// The entry's id in the tree, before replacement.
        id: ObjectId,
    },
    /// The end of a directory, which has been left.
    End,
}

impl Trees {
    /// Create a walk that has entered no tree. Messages name the tree `root`.
    pub fn new(root: ObjectId, rules: TreeRules) -> Self {
        Self {
            root,
            rules,
            stack: Vec::new(),
            spare: Vec::new(),
            linkless: HashSet::new(),
            held: Arc::default(),
            read: 0,
        }
    }

    /// Enter the tree `id`, which is at `path`.
    pub fn enter(&mut self, reader: &mut Reader, id: ObjectId, path: &[u8]) -> Result<()> {
        self.check_depth()
            .and_then(|()| self.read(reader, id, path))
            .map(|content| self.push(id, content, path.len()))
            .map_err(|error| reported(error, self.root, self.rules.redacted))
    }

    /// Enter the tree that `other` entered last, by the same rules, and of which it has taken no step. The tree is not
    /// read again.
    pub fn enter_equal(&mut self, other: &Self) {
        let Some(frame) = other.stack.last() else {
            return;
        };
        let mut content = self.spare.pop().unwrap_or_default();
        content.clear();
        content.extend(&frame.content);
        self.held.fetch_add(content.capacity(), Ordering::Relaxed);
        self.read += content.len();
        self.push(frame.id, content, frame.path_len);
    }

    fn check_depth(&self) -> Result<()> {
        if self.stack.len() <= self.rules.max_depth {
            return Ok(());
        }
        const TOO_DEEP: &str = "exceeded maximum allowed tree depth";
        Err(match self.rules.protect {
            Some(_) => Error::fatal(format!("failed to unpack tree object {}", self.root))
                .after(format!("error: {TOO_DEEP}")),
            None => Error::entry(TOO_DEEP),
        })
    }

    /// Push the tree `id` with this `content`, at a path of `path_len` bytes.
    fn push(&mut self, id: ObjectId, content: Buffer, path_len: usize) {
        let written = self.stack.is_empty();
        self.stack.push(Frame {
            id,
            read_at: self.read,
            at: 0,
            end: content.len(),
            content,
            path_len,
            written,
            seen: Seen::default(),
            attribute_file: OnceLock::new(),
        });
        self.make_room();
    }

    /// Take the next step and set `path` to its path; `None` after the end of the root.
    pub fn next(&mut self, reader: &mut Reader, path: &mut Vec<u8>) -> Result<Option<TreeStep>> {
        self.recall(reader, path)
            .and_then(|()| self.step(reader, path))
            .map_err(|error| reported(error, self.root, self.rules.redacted))
    }

    /// Skip the next files that are equal in `one` and `other`, two directories of the same path, and also equal
    /// directories unless the walk `enters` them. Skipped names are not verified, like names in unread trees. Links are
    /// not skipped, so that the walk can refuse later entries that lie below a link.
    pub fn skip_equal(one: &mut Self, other: &mut Self, enters: bool) {
        let hash = one.rules.hash;
        let (Some(one), Some(other)) = (one.stack.last_mut(), other.stack.last_mut()) else {
            return;
        };
        if one.path_len != other.path_len {
            return;
        }
        while let Ok(entry) = TreeEntry::parse(&one.content[one.at..one.end], hash) {
            let bytes = &one.content[one.at..][..entry.len];
            let is_looked_at = match entry.mode {
                Mode::Symlink | Mode::Submodule => true,
                Mode::Directory => enters,
                Mode::File | Mode::Executable => false,
            };
            if is_looked_at || !other.content[other.at..other.end].starts_with(bytes) {
                return;
            }
            one.at += entry.len;
            other.at += entry.len;
        }
    }

    /// The tree that messages name.
    pub fn root(&self) -> ObjectId {
        self.root
    }

    /// The number of directories on the stack.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Whether the entry of the directory of this `number`, counted from the root, counts as written.
    pub fn is_written(&self, number: usize) -> bool {
        self.stack[number].written
    }

    fn step(&mut self, reader: &mut Reader, path: &mut Vec<u8>) -> Result<Option<TreeStep>> {
        let Some(frame) = self.stack.last_mut() else {
            return Ok(None);
        };
        path.truncate(frame.path_len);
        if frame.at >= frame.end {
            let frame = self.stack.pop().expect("it was just looked at");
            self.give_back(frame.content);
            return Ok(Some(TreeStep::End));
        }
        let entry = TreeEntry::parse(&frame.content[frame.at..], self.rules.hash)
            .map_err(|fault| Error::fatal(fault).caused_by(format!("in tree {}", frame.id)))?;
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(entry.name);
        let mode = entry.mode;
        let is_tree = mode == Mode::Directory;
        let leads_out = match frame.seen.see(entry.name, mode) {
            NameClash::None => false,
            NameClash::Overlap => holds_link(reader, frame.id, &mut self.linkless),
            NameClash::Link => true,
        };
        if leads_out || !is_valid(entry.name, mode == Mode::Symlink, self.rules.protect) {
            let error = Error::fatal(format!("failed to unpack tree object {}", self.root));
            if is_tree && !leads_out {
                complete(reader, ObjectId::from_bytes_or_panic(entry.id), path);
            }
            return Err(error.after(format_bytes("error: invalid path '{}'", &[path])));
        }
        let id = ObjectId::from_bytes_or_panic(entry.id);
        frame.at += entry.len;
        Ok(Some(if is_tree {
            TreeStep::Directory(id)
        } else {
            TreeStep::Leaf { mode, id }
        }))
    }

    /// The attribute file of the directory entered last.
    pub fn attribute_file(&self) -> Option<ObjectId> {
        self.stack.last()?.attribute_file(self.rules.hash)
    }

    /// Mark as written the directories whose entries are not in the archive yet, from the root down. Yields the
    /// id and the length of the path of each.
    pub fn unwritten(&mut self) -> impl Iterator<Item = (ObjectId, usize)> {
        let unwritten = self.stack.iter_mut().filter(|frame| !frame.written);
        unwritten.map(|frame| {
            frame.written = true;
            (frame.id, frame.path_len)
        })
    }
}

/// Extend `path`, which leads to `tree`, to the first file in the tree: git's message names a file, never a
/// directory. Stops at a tree that is empty or cannot be read.
fn complete(reader: &mut Reader, tree: ObjectId, path: &mut Vec<u8>) {
    let mut content = Buffer::default();
    let mut next = Some(tree);
    while let Some(tree) = next.take().filter(|_| path.len() < MAX_SHOWN)
        && let Ok(Some(ObjectKind::Tree)) = reader.read(&tree, &mut content)
        && let Some((_, entry)) = entries(&content, 0, tree.kind()).next()
    {
        path.push(b'/');
        path.extend_from_slice(entry.name);
        let is_tree = entry.mode == Mode::Directory;
        next = is_tree.then(|| ObjectId::from_bytes_or_panic(entry.id));
    }
}

/// The failure as reported: a `redacted` one names nothing below the `root`.
pub fn reported(error: Error, root: ObjectId, redacted: bool) -> Error {
    if redacted {
        Error::fatal(format!("cannot read all of tree {root}"))
    } else {
        error
    }
}
