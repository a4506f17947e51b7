//! Removes archives that no view lists, and what interrupted publishers have written.

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
    base::error::Result,
    directory::bucket::{Bucket, Digest, Listed, UNFINISHED},
};

/// What was done, as JSON: see `schema/pruned.schema.json`.
#[derive(Debug, Serialize)]
pub struct Pruned {
    pruned: u32,
    /// Views that were read.
    views: u64,
    /// Files that were removed.
    removed: u64,
    /// The bytes of these files.
    bytes: u64,
    /// Files that stay, views not counted.
    kept: u64,
}

/// Removes from `bucket` the archives that no view lists, nor has listed within `grace`, and that are older. Removes also
/// views that a publisher has left unfinished for as long.
///
/// A view that cannot be read ends the run, before anything is removed.
pub fn prune(bucket: &dyn Bucket, grace: Duration) -> Result<Pruned> {
    // The archives come first: one that is published later is not among them.
    let archives = bucket.list(OBJECTS)?;
    let views = bucket.list(VIEWS)?;
    let mut pruned = Pruned {
        pruned: 1,
        views: 0,
        removed: 0,
        bytes: 0,
        kept: 0,
    };
    let listed = listed(bucket, &views, grace, &mut pruned)?;
    let is_unfinished = |file: &Listed| file.name.starts_with(UNFINISHED);
    let unfinished = views.into_iter().filter(is_unfinished);
    let archives = archives.into_iter().map(|file| (OBJECTS, file));
    let files = archives.chain(unfinished.map(|file| (VIEWS, file)));
    let is_old = |written: SystemTime| written.elapsed().is_ok_and(|age| age >= grace);
    for (folder, file) in files {
        let Listed {
            name,
            size,
            written,
        } = file;
        let is_listed = digest_of(&name).is_some_and(|digest| listed.contains(&digest));
        let file = format!("{folder}/{name}");
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

/// The archives that `views` list, or have listed within `grace`.
fn listed(
    bucket: &dyn Bucket,
    views: &[Listed],
    grace: Duration,
    pruned: &mut Pruned,
) -> Result<HashSet<Digest>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = now.unwrap_or_default().saturating_sub(grace).as_secs();
    let mut listed = HashSet::new();
    for file in views {
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
