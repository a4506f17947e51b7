//! Resolves a symbolic link within a tree, component by component, as a system does (path_resolution(7)).

use std::{collections::HashMap, rc::Rc};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use super::origins::{KeptLink, push};
use crate::{
    objects::{Failure, reader::Reader, wanted::Role},
    tree::{Mode, entry::find},
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
};

/// Linux follows as many links.
const MAX_LINKS: usize = 40;
/// No system has a longer path.
const MAX_TARGET: usize = 4096;
/// The bytes of trees that are remembered.
const MAX_REMEMBERED: usize = 16 << 20;

/// What a link leads to.
pub(super) enum Target {
    /// A file.
    File {
        path: BString,
        mode: Mode,
        id: ObjectId,
    },
    /// A directory.
    Directory { path: BString, id: ObjectId },
    /// Nothing that can be copied.
    None(KeptLink),
}

/// Reads trees and links. Trees that were read lately are remembered.
pub(super) struct Resolver<'a> {
    pub(super) reader: &'a mut Reader,
    root: ObjectId,
    trees: HashMap<ObjectId, Rc<[u8]>>,
    remembered: usize,
}

/// A directory on the way, by its name and id.
type Step = (BString, ObjectId);

impl<'a> Resolver<'a> {
    pub(super) fn new(reader: &'a mut Reader, root: ObjectId) -> Self {
        Self {
            reader,
            root,
            trees: HashMap::new(),
            remembered: 0,
        }
    }

    /// The content of the tree `id` at `path`. `None` if it cannot be read: the walk reports that.
    pub(super) fn tree(&mut self, id: ObjectId, path: &[u8]) -> Option<Rc<[u8]>> {
        if let Some(tree) = self.trees.get(&id) {
            return Some(Rc::clone(tree));
        }
        let mut content = Buffer::default();
        match self.reader.read(&id, &mut content) {
            Ok(Some(ObjectKind::Tree)) => {}
            Ok(None) => {
                self.reader.note_missing(&id, || Role::Tree(path.into()));
                return None;
            }
            Ok(Some(_)) | Err(_) => return None,
        }
        if self.remembered > MAX_REMEMBERED {
            self.trees.clear();
            self.remembered = 0;
        }
        let tree: Rc<[u8]> = content[..].into();
        self.remembered += tree.len();
        self.trees.insert(id, Rc::clone(&tree));
        Some(tree)
    }

    /// What the link `id` in `directory` leads to.
    pub(super) fn resolve(&mut self, directory: &[u8], id: ObjectId) -> Result<Target> {
        let mut steps: Vec<Step> = Vec::new();
        let mut rest: Vec<BString> = Vec::new();
        let mut links = 1;
        put(&mut rest, directory);
        // The directory exists.
        self.follow(&mut steps, &mut rest, &mut links)?;
        if !self.put_link(id, &mut rest)? {
            return Ok(Target::None(KeptLink::Outside));
        }
        self.follow(&mut steps, &mut rest, &mut links)
    }

    /// Goes from the directory at the end of `steps` along the components in `rest`, the next one last.
    fn follow(
        &mut self,
        steps: &mut Vec<Step>,
        rest: &mut Vec<BString>,
        links: &mut usize,
    ) -> Result<Target> {
        while let Some(part) = rest.pop() {
            match &part[..] {
                b"" | b"." => continue,
                b".." => {
                    if steps.pop().is_none() {
                        return Ok(Target::None(KeptLink::Outside));
                    }
                    continue;
                }
                _ => {}
            }
            let here = steps.last().map_or(self.root, |step| step.1);
            let tree = self.tree(here, &path(steps));
            let Some((id, mode)) = tree.and_then(|tree| find(&tree, here.kind(), &part)) else {
                return Ok(Target::None(KeptLink::Dangling));
            };
            match mode {
                Mode::Directory => steps.push((part, id)),
                Mode::Submodule => return Ok(Target::None(KeptLink::Submodule)),
                // A slash after a file asks for a directory.
                Mode::File | Mode::Executable if !rest.is_empty() => {
                    return Ok(Target::None(KeptLink::Dangling));
                }
                Mode::File | Mode::Executable => {
                    let mut path = path(steps);
                    push(&mut path, &part);
                    return Ok(Target::File { path, mode, id });
                }
                Mode::Symlink => {
                    *links += 1;
                    if *links > MAX_LINKS {
                        return Ok(Target::None(KeptLink::Circle));
                    }
                    if !self.put_link(id, rest)? {
                        return Ok(Target::None(KeptLink::Outside));
                    }
                }
            }
        }
        let id = steps.last().map_or(self.root, |step| step.1);
        let path = path(steps);
        Ok(Target::Directory { path, id })
    }

    /// Puts the components of the target of the link `id` in front of `rest`. `false` for an absolute target.
    fn put_link(&mut self, id: ObjectId, rest: &mut Vec<BString>) -> Result<bool> {
        let mut target = Buffer::default();
        match self.reader.read(&id, &mut target) {
            Ok(Some(_)) => {}
            Ok(None) if self.reader.notes_missing() => {
                self.reader
                    .note_missing(&id, || Role::File(BString::default()));
            }
            Ok(None) => return Err(unread(id, Failure::Absent)),
            Err(failure) => return Err(unread(id, failure)),
        }
        if target.starts_with(b"/") {
            return Ok(false);
        }
        if target.is_empty() || target.len() > MAX_TARGET {
            // No system can have such a link; this one leads nowhere.
            rest.clear();
            rest.push("\0".into());
        } else {
            put(rest, &target);
        }
        Ok(true)
    }
}

fn unread(id: ObjectId, failure: Failure) -> Error {
    failure.explain(Error::fatal(format!("cannot read symbolic link {id}")))
}

/// Puts the components of `path` in front of `rest`, whose next component is its last.
fn put(rest: &mut Vec<BString>, path: &[u8]) {
    let parts: Vec<_> = path.split_str("/").map(BString::from).collect();
    rest.extend(parts.into_iter().rev());
}

fn path(steps: &[Step]) -> BString {
    let mut path = BString::default();
    for (name, _) in steps {
        push(&mut path, name);
    }
    path
}
