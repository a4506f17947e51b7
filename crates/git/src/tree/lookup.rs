//! Looks up one file by its path from the root of a tree, without a walk.

use bstr::ByteSlice;
use gix_hash::{Kind as HashKind, ObjectId};

use super::entry::{Mode, find};
use crate::objects::{Failure, reader::Reader, wanted::Role};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result, format_bytes},
};

/// The id of the file `name` in the directory `path`, from the tree `root` down; `None` if
/// a directory on the way or the file does not exist.
pub fn file_at(
    reader: &mut Reader,
    root: ObjectId,
    hash: HashKind,
    path: &[u8],
    name: &[u8],
) -> Result<Option<ObjectId>> {
    look_up(reader, root, hash, path, name).or_else(|failure| {
        if matches!(failure, Failure::Absent) {
            return Ok(None);
        }
        let path = [path, b"/", name].concat();
        let path = path.trim_start_with(|c| c == '/');
        let root = root.to_string();
        let error = format_bytes("cannot look for '{}' in tree {}", &[path, root.as_bytes()]);
        Err(Error::fatal(error).caused_by(failure))
    })
}

/// Like [`file_at`], with the bare failure: [`Failure::Absent`] for a directory that is not in the repository.
pub fn look_up(
    reader: &mut Reader,
    root: ObjectId,
    hash: HashKind,
    path: &[u8],
    name: &[u8],
) -> Result<Option<ObjectId>, Failure> {
    let mut content = Buffer::default();
    let Some(tree) = directory_at(reader, root, hash, path)? else {
        return Ok(None);
    };
    read(reader, tree, path, &mut content)?;
    Ok(match find(&content, hash, name) {
        None | Some((_, Mode::Directory | Mode::Submodule)) => None,
        Some((id, _)) => Some(id),
    })
}

/// The id of the directory `path`, from the tree `root` down; `None` if it does not exist.
pub fn directory_at(
    reader: &mut Reader,
    root: ObjectId,
    hash: HashKind,
    path: &[u8],
) -> Result<Option<ObjectId>, Failure> {
    let mut content = Buffer::default();
    let mut tree = root;
    let mut above = 0;
    for part in path.split_str("/").filter(|part| !part.is_empty()) {
        read(reader, tree, &path[..above], &mut content)?;
        match find(&content, hash, part) {
            Some((id, Mode::Directory)) => tree = id,
            _ => return Ok(None),
        }
        above += part.len() + usize::from(above > 0);
    }
    Ok(Some(tree))
}

/// Read the tree `id`, which is at `path`.
fn read(
    reader: &mut Reader,
    id: ObjectId,
    path: &[u8],
    content: &mut Buffer,
) -> Result<(), Failure> {
    if reader.read(&id, content)?.is_none() {
        reader.note_missing(&id, || Role::Tree(path.into()));
        return Err(Failure::Absent);
    }
    Ok(())
}
