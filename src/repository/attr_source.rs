//! The tree that attributes are read from instead of the work tree (`GIT_ATTR_SOURCE`, `attr.tree`).

use std::{io, os::unix::ffi::OsStrExt};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
};

use super::{environment::Environment, treeish};
use crate::{
    decode::reader::Reader,
    error::{Error, Result},
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
