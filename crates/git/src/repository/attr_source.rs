//! The tree that replaces the work tree as the source of attributes (`GIT_ATTR_SOURCE`, `attr.tree`).

use std::{error::Error as _, io, os::unix::ffi::OsStrExt, path::PathBuf};

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;

use super::{Repository, treeish};
use crate::{
    attributes::AttributeSource, config::value::missing_value, environment::Environment,
    objects::reader::Reader,
};
use sluice_base::error::Result;

/// The named tree, if one is named. A full id in the environment counts as that of a tree.
pub fn named(
    repository: &Repository,
    reader: &mut Reader,
    environment: &Environment,
) -> Result<Option<AttributeSource>> {
    let mut find = |name: &BStr| treeish::resolve(repository, reader, name, &mut io::sink());
    if let Some(name) = &environment.attributes.source {
        let found = find(name.as_bytes().as_bstr()).map(|found| found.tree);
        let full_id = ObjectId::from_hex(name.as_bytes());
        return Ok(Some(match (found, full_id) {
            (Ok(tree), _) => AttributeSource::Tree(tree),
            (Err(_), Ok(id)) if id.kind() == repository.hash() => AttributeSource::Tree(id),
            (Err(_), _) => AttributeSource::Unknown,
        }));
    }
    let name = match repository.config.value("attr.tree") {
        None => return Ok(None),
        Some(None) => return Err(missing_value("attr.tree")),
        Some(Some(name)) => name,
    };
    match find(name) {
        Ok(found) => Ok(Some(AttributeSource::Tree(found.tree))),
        // As in git, an unknown name is ignored. An object that cannot be read is an error.
        Err(error) if error.source().is_none() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The source of attributes with `--worktree-attributes` if no tree is named: as in git, the `directory` in which git
/// runs, unless the repository `is_bare`.
pub fn of_work_tree(directory: PathBuf, is_bare: bool) -> AttributeSource {
    if is_bare {
        AttributeSource::Nowhere
    } else {
        AttributeSource::WorkTree(directory)
    }
}
