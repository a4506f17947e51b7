//! Removes archives that no view lists.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use super::{
    place::{OBJECTS, VIEWS, ViewName, digest_of},
    view::View,
};
use crate::{
    bucket::{Bucket, Digest, Listed},
    error::Result,
};

/// What was done, as JSON: see `schema/pruned.schema.json`.
#[derive(Debug, Serialize)]
pub struct Pruned {
    pruned: u32,
    /// Views that were read.
    views: u64,
    /// Archives that were removed.
    removed: u64,
    /// Their bytes.
    bytes: u64,
    /// Archives that stay.
    kept: u64,
}

/// Removes from `bucket` the archives that no view lists, nor has listed within `grace`, and that are older.
///
/// A view that cannot be read ends the run, before anything is removed.
pub fn prune(bucket: &dyn Bucket, grace: Duration) -> Result<Pruned> {
    // The archives come first: one that is published later is not among them.
    let archives = bucket.list(OBJECTS)?;
    let mut pruned = Pruned {
        pruned: 1,
        views: 0,
        removed: 0,
        bytes: 0,
        kept: 0,
    };
    let listed = listed(bucket, grace, &mut pruned)?;
    let is_old = |written: SystemTime| written.elapsed().is_ok_and(|age| age >= grace);
    for Listed {
        name,
        size,
        written,
    } in archives
    {
        let is_listed = digest_of(&name).is_some_and(|digest| listed.contains(&digest));
        let file = format!("{OBJECTS}/{name}");
        let is_unwanted = !is_listed && is_old(written);
        // A publisher that wants to list it has written it anew.
        if is_unwanted && bucket.written(&file)?.is_some_and(is_old) {
            bucket.remove(&file)?;
            pruned.removed += 1;
            pruned.bytes += size;
        } else {
            pruned.kept += 1;
        }
    }
    Ok(pruned)
}

/// The archives that views list, or have listed within `grace`.
fn listed(bucket: &dyn Bucket, grace: Duration, pruned: &mut Pruned) -> Result<HashSet<Digest>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = now.unwrap_or_default().saturating_sub(grace).as_secs();
    let mut listed = HashSet::new();
    for file in bucket.list(VIEWS)? {
        let Some(name) = ViewName::of_file(&file.name) else {
            continue;
        };
        if let Some((view, _)) = View::read(bucket, &name)? {
            pruned.views += 1;
            listed.extend(view.steps.into_iter().map(|step| step.sha256));
            let retired = view.retired.into_iter();
            listed.extend(retired.filter(|old| old.time > since).map(|old| old.sha256));
        }
    }
    Ok(listed)
}
