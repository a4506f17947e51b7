//! Reads the refs of `git replace`.
//!
//! gix cannot read refs in a reftable, nor `packed-refs` in which one name is invalid, and it does not know all bases, so the
//! installed git lists those refs. A run fails without them: a missing replacement would change the archive.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    hash::Kind,
};

use super::{environment::Environment, refs::followed};
use crate::{
    base::error::{Error, Result, format_bytes},
    git::{
        odb::Replacements,
        program::{self, GitLocation},
    },
};

/// What the names of the refs begin with by default.
const DEFAULT_BASE: &str = "refs/replace/";

/// A ref, and the id at its end. A ref without an id makes its object unreadable.
struct RefTarget {
    name: BString,
    id: Option<ObjectId>,
}

pub(super) fn replacements(
    repository: &gix::Repository,
    environment: &Environment,
) -> Result<Replacements> {
    let config = repository.config_snapshot();
    if environment.no_replace_objects || config.boolean("core.useReplaceRefs") == Some(false) {
        return Ok(Replacements::default());
    }
    let base = environment.replace_ref_base.as_deref();
    let base = base.map_or(DEFAULT_BASE.into(), |base| base.as_bytes().as_bstr());
    let is_readable = base == DEFAULT_BASE && !is_reftable(&config);
    let read = is_readable.then(|| read(repository, base).ok()).flatten();
    let targets = match read {
        Some(targets) => targets,
        None => list(base, &environment.location)?,
    };
    let pairs = pairs(&targets, base, repository.object_hash())?;
    Ok(Replacements::new(pairs))
}

fn is_reftable(config: &gix::config::Snapshot<'_>) -> bool {
    let storage = config.string("extensions.refStorage");
    storage.is_some_and(|storage| storage.starts_with(b"reftable"))
}

/// The refs below `base`, in the order of their names.
fn read(repository: &gix::Repository, base: &BStr) -> gix::Result<Vec<RefTarget>> {
    let refs = repository.references()?;
    // All refs are listed before they are followed: the list holds the packed refs.
    let refs = refs.prefixed(base)?.collect::<gix::Result<Vec<_>>>()?;
    let target = |reference: gix::Reference<'_>| RefTarget {
        name: reference.name().as_bstr().to_owned(),
        id: followed(repository, reference).and_then(|it| Some(it.try_id()?.detach())),
    };
    Ok(refs.into_iter().map(target).collect())
}

/// The refs whose names begin with `base`, as the installed git knows them.
fn list(base: &BStr, location: &GitLocation) -> Result<Vec<RefTarget>> {
    let words = ["replace", "--list", "--format=medium"].map(OsStr::new);
    let unread = || Error::fatal(format_bytes("cannot read the refs below {}", &[base]));
    let output = program::ask(location, &words)
        .ok_or_else(|| unread().hinted("the installed git is asked for them: is there one?"))?;
    if !output.status.success() {
        return Err(program::refusal(&output).unwrap_or_else(unread));
    }
    let target = |line: &[u8]| {
        let (name, id) = line.rsplit_once_str(" -> ")?;
        Some(RefTarget {
            name: [base, name].concat().into(),
            id: ObjectId::from_hex(id).ok(),
        })
    };
    Ok(output.stdout.lines().filter_map(target).collect())
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
