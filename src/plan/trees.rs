//! Trees read one entry at a time, depth first, in the order in which they hold them.
//!
//! Keeps its own stack, with git's limit on depth: no tree can exhaust the process's. Every name is
//! verified before anybody sees it. Decides nothing.

use gix::{
    ObjectId,
    bstr::ByteSlice,
    hash::Kind as HashKind,
    objs::{Kind as ObjectKind, TreeRefIter},
};

use super::select::verify::{Protect, is_valid};
use crate::{
    buffer::Buffer,
    decode::reader::Reader,
    emit::Kind,
    error::{Error, Result},
};

/// How trees are read.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The hash that names objects.
    pub hash: HashKind,
    /// Which names are refused.
    pub protect: Protect,
    /// `core.maxTreeDepth`
    pub max_depth: usize,
}

/// The trees between the root and the current path.
pub struct Trees {
    root: ObjectId,
    rules: Rules,
    stack: Vec<Frame>,
    spare: Vec<Buffer>,
}

struct Frame {
    id: ObjectId,
    content: Buffer,
    at: usize,
    /// The length of the directory's path, without slash at its end.
    path_len: usize,
    /// Its own entry is in the archive.
    written: bool,
}

/// What a tree holds next.
pub enum Found {
    /// A directory, which was not entered yet.
    Directory(ObjectId),
    /// Anything else. A submodule is a directory in the archive.
    Leaf {
        /// What it is in the archive.
        kind: Kind,
        /// Its id as the tree has it.
        id: ObjectId,
    },
    /// Nothing more: the directory was left.
    End,
}

impl Trees {
    /// Nothing entered yet; `root` is the tree that messages speak of.
    pub fn new(root: ObjectId, rules: Rules) -> Self {
        Self {
            root,
            rules,
            stack: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Go on with the entries of the tree `id`, whose path has `path_len` bytes.
    pub fn enter(&mut self, reader: &mut Reader, id: ObjectId, path_len: usize) -> Result<()> {
        if self.stack.len() > self.rules.max_depth {
            return Err(
                Error::fatal(format!("failed to unpack tree object {}", self.root))
                    .after("error: exceeded maximum allowed tree depth"),
            );
        }
        let mut content = self.spare.pop().unwrap_or_default();
        match reader.read(&id, &mut content) {
            Ok(Some(ObjectKind::Tree)) => {}
            Ok(_) => return Err(Error::fatal(format!("unable to read tree ({id})"))),
            Err(failure) => {
                return Err(Error::fatal(format!("unable to read tree ({id})")).caused_by(failure));
            }
        }
        let written = self.stack.is_empty();
        self.stack.push(Frame {
            id,
            content,
            at: 0,
            path_len,
            written,
        });
        Ok(())
    }

    /// The next entry, with `path` set to its path; nothing at the end of the root.
    pub fn next(&mut self, path: &mut Vec<u8>) -> Result<Option<Found>> {
        let Some(frame) = self.stack.last_mut() else {
            return Ok(None);
        };
        path.truncate(frame.path_len);
        let rest = &frame.content[frame.at..];
        let mut entries = TreeRefIter::from_bytes(rest, self.rules.hash);
        let entry = match entries.next() {
            Some(Ok(entry)) => entry,
            Some(Err(_)) => {
                let root = self.root;
                return Err(Error::fatal(format!("failed to unpack tree object {root}"))
                    .after("error: malformed tree entry"));
            }
            None => {
                let frame = self.stack.pop().expect("it was just looked at");
                self.spare.push(frame.content);
                return Ok(Some(Found::End));
            }
        };
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(entry.filename);
        let (kind, is_tree) = kind(entry.mode.value());
        if !is_valid(entry.filename, kind == Kind::Symlink, self.rules.protect) {
            return Err(
                Error::fatal(format!("failed to unpack tree object {}", self.root))
                    .after(format!("error: invalid path '{}'", path.as_bstr())),
            );
        }
        let id = entry.oid.to_owned();
        frame.at += entries.offset_to_next_entry(rest);
        Ok(Some(match is_tree {
            true => Found::Directory(id),
            false => Found::Leaf { kind, id },
        }))
    }

    /// The attribute file of the directory entered last.
    pub fn attribute_file(&self) -> Option<ObjectId> {
        let content = &self.stack.last()?.content;
        if !content.contains_str(".gitattributes\0") {
            return None;
        }
        let mut entries =
            TreeRefIter::from_bytes(content, self.rules.hash).filter_map(|entry| entry.ok());
        let entry = entries.find(|entry| entry.filename == ".gitattributes")?;
        (!entry.mode.is_tree()).then(|| entry.oid.to_owned())
    }

    /// The directories from the root down whose entries are not in the archive yet, with the
    /// lengths of their paths; they count as written from now on.
    pub fn unwritten(&mut self) -> impl Iterator<Item = (ObjectId, usize)> {
        let unwritten = self.stack.iter_mut().filter(|frame| !frame.written);
        unwritten.map(|frame| {
            frame.written = true;
            (frame.id, frame.path_len)
        })
    }
}

/// What a tree entry's mode means, as git reads it, and whether it is a tree: what is no file, link
/// or tree counts as a submodule, which is a directory in the archive.
fn kind(mode: u16) -> (Kind, bool) {
    match mode & 0o170_000 {
        0o100_000 if mode & 0o100 != 0 => (Kind::Executable, false),
        0o100_000 => (Kind::File, false),
        0o120_000 => (Kind::Symlink, false),
        mode => (Kind::Directory, mode == 0o040_000),
    }
}
