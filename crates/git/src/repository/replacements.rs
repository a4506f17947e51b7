//! Reads the refs of `git replace`.
//!
//! The installed git lists the refs that this crate cannot read, and those below other names than the usual one. A run fails
//! without them: a missing replacement would change the archive.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};

use crate::{
    config::Config,
    environment::Environment,
    odb::Replacements,
    program::{self, GitLocation},
    refs::{RefTarget, Refs},
};
use sluice_base::error::{Error, Result, format_bytes};

/// What the names of the refs begin with by default.
const DEFAULT_BASE: &str = "refs/replace/";

/// The objects that replace others, by the `refs` of a repository with ids of the kind `hash`.
pub(super) fn replacements(
    refs: &Refs,
    hash: Kind,
    config: &Config,
    environment: &Environment,
) -> Result<Replacements> {
    let contents = &environment.contents;
    if contents.no_replace_objects || config.is_false("core.useReplaceRefs") {
        return Ok(Replacements::default());
    }
    let base = base(environment);
    let is_usual = base == DEFAULT_BASE;
    let read = is_usual.then(|| refs.below(base).ok()).flatten();
    let targets = match read {
        Some(targets) => targets,
        None => list(base, &environment.location)?,
    };
    let pairs = pairs(&targets, base, hash)?;
    Ok(Replacements::new(pairs))
}

/// What the names of the refs begin with.
pub fn base(environment: &Environment) -> &BStr {
    let base = environment.contents.replace_ref_base.as_deref();
    base.map_or(DEFAULT_BASE.into(), |base| base.as_bytes().as_bstr())
}

/// The refs whose names begin with `base`, as the installed git knows them.
fn list(base: &BStr, location: &GitLocation) -> Result<Vec<RefTarget>> {
    let words = ["replace", "--list", "--format=medium"].map(OsStr::new);
    let unread = || Error::fatal(format_bytes("cannot read the refs below {}", &[base]));
    let output =
        program::ask(location, &words).ok_or_else(|| unread().hinted("this needs git in PATH"))?;
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

/// Pairs of object and replacement. As in git, a name is an id and whatever follows, such as `.bak`; refs with other names are
/// ignored.
fn pairs(targets: &[RefTarget], base: &[u8], hash: Kind) -> Result<Vec<(ObjectId, ObjectId)>> {
    let mut pairs: Vec<(ObjectId, ObjectId)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for RefTarget { name, id } in targets {
        let last = name.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let object = name[last..].get(..hash.len_in_hex());
        let Some(object) = object.and_then(|hex| ObjectId::from_hex(hex).ok()) else {
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
