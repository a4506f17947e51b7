//! Which objects stand for others (`git replace`).
//!
//! gix tells, but of refs in a reftable, which it cannot read: then the installed git is asked. Never
//! goes on without them: the archive would be another one.

use std::ffi::OsStr;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use super::{git, told};
use crate::error::{Error, Result};

/// Where they are unless the environment says otherwise.
const DEFAULT_BASE: &[u8] = b"refs/replace/";

/// Pairs of object and replacement, sorted by the first.
pub(super) fn replacements(repository: &gix::Repository) -> Result<Vec<(ObjectId, ObjectId)>> {
    let config = repository.config_snapshot();
    if !is_reftable(&config) {
        return Ok(repository.objects.store_ref().replacements().collect());
    }
    if config.boolean("core.useReplaceRefs") == Some(false) {
        return Ok(Vec::new());
    }
    let base = config.string("gitoxide.objects.replaceRefBase");
    let base = base.unwrap_or_else(|| DEFAULT_BASE.into());
    let mut pairs: Vec<_> = list(&base)?.lines().filter_map(pair).collect();
    pairs.sort();
    Ok(pairs)
}

fn is_reftable(config: &gix::config::Snapshot<'_>) -> bool {
    let storage = config.string("extensions.refStorage");
    storage.is_some_and(|storage| storage.starts_with(b"reftable"))
}

/// The refs below `base`, each a line of its name and what it leads to.
fn list(base: &BString) -> Result<Vec<u8>> {
    let fixed = ["for-each-ref", "--format=%(refname) %(objectname)"].map(OsStr::new);
    let base = base.to_os_str_lossy();
    let unread = || Error::fatal("cannot read refs in a reftable");
    let output = git(&[&fixed[..], &[&*base]].concat())
        .ok_or_else(|| unread().hinted("the installed git is asked for them: is there one?"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(told(&output).unwrap_or_else(unread)),
    }
}

/// A line as a pair; other names than ids replace nothing.
fn pair(line: &[u8]) -> Option<(ObjectId, ObjectId)> {
    let (name, replacement) = line.rsplit_once_str(" ")?;
    let (_, object) = name.rsplit_once_str("/")?;
    let [object, replacement] = [object, replacement].map(ObjectId::from_hex);
    object.ok().zip(replacement.ok())
}
