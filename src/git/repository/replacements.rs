//! Reads the refs of `git replace`.
//!
//! gix cannot read refs in a reftable, so the installed git lists them. A run fails without them: a missing
//! replacement would change the archive.

use std::ffi::OsStr;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    hash::Kind,
};

use super::refs::followed;
use crate::{
    base::error::{Error, Result, format_bytes},
    git::{
        odb::Replacements,
        program::{self, GitLocation},
    },
};

/// The default directory of the refs.
const DEFAULT_BASE: &[u8] = b"refs/replace/";

/// A ref, and the id at its end. A ref without an id makes its object unreadable.
struct RefTarget {
    name: BString,
    id: Option<ObjectId>,
}

pub(super) fn replacements(
    repository: &gix::Repository,
    location: &GitLocation,
) -> Result<Replacements> {
    let config = repository.config_snapshot();
    if config.boolean("core.useReplaceRefs") == Some(false) {
        return Ok(Replacements::default());
    }
    let base = config.string("gitoxide.objects.replaceRefBase");
    let base = base.unwrap_or_else(|| DEFAULT_BASE.into());
    let targets = match is_reftable(&config) {
        true => list(&base, location)?.lines().filter_map(target).collect(),
        false => read(repository, &base)?,
    };
    let pairs = pairs(&targets, &base, repository.object_hash())?;
    Ok(Replacements::new(pairs))
}

fn is_reftable(config: &gix::config::Snapshot<'_>) -> bool {
    let storage = config.string("extensions.refStorage");
    storage.is_some_and(|storage| storage.starts_with(b"reftable"))
}

/// The refs below `base`, in the order of their names.
fn read(repository: &gix::Repository, base: &BString) -> Result<Vec<RefTarget>> {
    let unread = |cause: gix::Error| {
        Error::fatal(format_bytes("cannot read the refs below {}", &[base]))
            .caused_by(cause.to_string())
    };
    let refs = repository.references().map_err(unread)?;
    let refs = refs.prefixed(base.as_bstr()).map_err(unread)?;
    // All refs are listed before they are followed: the list holds the packed refs.
    let refs = refs.collect::<gix::Result<Vec<_>>>().map_err(unread)?;
    let target = |reference: gix::Reference<'_>| RefTarget {
        name: reference.name().as_bstr().to_owned(),
        id: followed(reference).and_then(|it| Some(it.try_id()?.detach())),
    };
    Ok(refs.into_iter().map(target).collect())
}

/// The refs below `base` in a reftable, each a line of its name and its id.
fn list(base: &BString, location: &GitLocation) -> Result<Vec<u8>> {
    let fixed = ["for-each-ref", "--format=%(refname) %(objectname)"].map(OsStr::new);
    let base = base.to_os_str_lossy();
    let unread = || Error::fatal("cannot read refs in a reftable");
    let output = program::ask(location, &[&fixed[..], &[&*base]].concat())
        .ok_or_else(|| unread().hinted("the installed git is asked for them: is there one?"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(program::refusal(&output).unwrap_or_else(unread)),
    }
}

fn target(line: &[u8]) -> Option<RefTarget> {
    let (name, id) = line.rsplit_once_str(" ")?;
    let (name, id) = (name.into(), ObjectId::from_hex(id).ok());
    Some(RefTarget { name, id })
}

/// Pairs of object and replacement. Refs whose names are no ids are ignored.
fn pairs(targets: &[RefTarget], base: &[u8], hash: Kind) -> Result<Vec<(ObjectId, ObjectId)>> {
    let mut pairs: Vec<(ObjectId, ObjectId)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for RefTarget { name, id } in targets {
        let last = name.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let Ok(object) = ObjectId::from_hex(&name[last..]) else {
            continue;
        };
        if !seen.insert(object) {
            let name = name.strip_prefix(base).unwrap_or(name);
            return Err(Error::fatal(format_bytes(
                "duplicate replace ref: {}",
                &[name],
            )));
        }
        pairs.push((object, id.unwrap_or_else(|| hash.null())));
    }
    Ok(pairs)
}
