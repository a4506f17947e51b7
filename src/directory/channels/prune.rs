//! Removes archives that no view lists, and what interrupted publishers have written.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use super::{
    age::{CURRENT, LEAST, is_past},
    place::{OBJECTS, VIEWS, ViewName, digest_of},
    view::View,
};
use crate::{
    base::error::{Error, Result},
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
/// A view that cannot be read ends the run, before anything is removed. A `grace` that a publication may outlast is
/// refused.
pub fn prune(bucket: &dyn Bucket, grace: Duration) -> Result<Pruned> {
    refuse_short(grace)?;
    // The archives come first: one that is published later is not among them.
    let archives = bucket.list(OBJECTS)?;
    let mut listed = Listings::read(bucket, grace)?;
    let unfinished = std::mem::take(&mut listed.unfinished);
    let archives = archives.into_iter().map(|file| (OBJECTS, file));
    let files = archives.chain(unfinished.into_iter().map(|file| (VIEWS, file)));
    let (mut removed, mut bytes, mut kept) = (0, 0, 0);
    for (folder, file) in files {
        let Listed {
            name,
            size,
            written,
        } = file;
        if is_past(listed.read, CURRENT) {
            listed = Listings::read(bucket, grace)?;
        }
        let file = format!("{folder}/{name}");
        let is_unwanted = !listed.has(&name) && is_past(written, grace);
        let is_old = |written| is_past(written, grace);
        // A publisher that wants to list it has written it anew.
        if is_unwanted && bucket.written(&file)?.is_some_and(is_old) {
            bucket.remove(&file)?;
            removed += 1;
            bytes += size;
        } else {
            kept += 1;
        }
    }
    Ok(Pruned {
        pruned: 1,
        views: listed.views,
        removed,
        bytes,
        kept,
    })
}

fn refuse_short(grace: Duration) -> Result<()> {
    if grace >= LEAST {
        return Ok(());
    }
    let minutes = LEAST.as_secs() / 60;
    let refused = format!("cannot remove archives that are younger than {minutes} minutes");
    Err(Error::fatal(refused)
        .caused_by("a publication that is running may need them")
        .hinted(format!("--older-than={minutes}m")))
}

/// What all views list.
struct Listings {
    /// When they were read.
    read: SystemTime,
    /// The number of views.
    views: u64,
    /// The archives that they list, or have listed within the grace.
    archives: HashSet<Digest>,
    /// Views that publishers have begun to write.
    unfinished: Vec<Listed>,
}

impl Listings {
    fn read(bucket: &dyn Bucket, grace: Duration) -> Result<Self> {
        let read = SystemTime::now();
        let since = read.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = since.saturating_sub(grace).as_secs();
        let (mut views, mut archives, mut unfinished) = (0, HashSet::new(), Vec::new());
        for file in bucket.list(VIEWS)? {
            if file.name.starts_with(UNFINISHED) {
                unfinished.push(file);
                continue;
            }
            let Some(name) = ViewName::of_file(&file.name) else {
                continue;
            };
            if let Some((view, _)) = View::read(bucket, &name)? {
                views += 1;
                archives.extend(view.steps.into_iter().map(|step| step.sha256));
                let retired = view.retired.into_iter();
                archives.extend(retired.filter(|old| old.time > since).map(|old| old.sha256));
            }
        }
        Ok(Self {
            read,
            views,
            archives,
            unfinished,
        })
    }

    /// Whether a view lists the archive of the file called `name`.
    fn has(&self, name: &str) -> bool {
        digest_of(name).is_some_and(|digest| self.archives.contains(&digest))
    }
}
