//! The tree that attributes are read from instead of the work tree (`GIT_ATTR_SOURCE`, `attr.tree`).

use std::{io, os::unix::ffi::OsStrExt, path::Path};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
};

use super::{environment::Environment, treeish};
use crate::{
    decode::reader::Reader,
    error::{Error, Result},
    plan::select::source::Source,
};

/// The tree, if one is named. As in git, what the environment names has to exist.
pub fn tree(
    gix: &gix::Repository,
    reader: &mut Reader,
    environment: &Environment,
) -> Result<Option<ObjectId>> {
    let mut find = |name: &BStr| treeish::resolve(gix, reader, name, &mut io::sink());
    if let Some(name) = &environment.attr_source {
        let found = find(name.as_bytes().as_bstr());
        return found
            .map(|found| Some(found.tree))
            .map_err(|_| Error::fatal("bad --attr-source or GIT_ATTR_SOURCE"));
    }
    let name = gix.config_snapshot().string("attr.tree");
    Ok(name
        .and_then(|name| find(name.as_bstr()).ok())
        .map(|found| found.tree))
}

/// Where attribute files come from with `--worktree-attributes`, if `named` is the tree that is
/// named. In the git directory there is no work tree to be seen.
pub fn of_work_tree(
    gix: &gix::Repository,
    environment: &Environment,
    named: Option<ObjectId>,
) -> Source {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let in_git_dir = real(&environment.cwd).starts_with(real(gix.git_dir()));
    match (named, gix.workdir()) {
        (Some(tree), _) => Source::Tree(tree),
        (None, Some(top)) if !in_git_dir => Source::WorkTree(top.to_owned()),
        _ => Source::Nowhere,
    }
}
