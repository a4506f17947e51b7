//! Removes archives that no channel lists, and what interrupted publishers have written.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use super::{
    address::{CHANNELS, ChannelName, OBJECTS, digest_of},
    age::{CURRENT, LEAST, is_past},
    channel::Channel,
};
use crate::bucket::{Bucket, Digest, Listed, UNFINISHED};
use sluice_base::error::{Error, Result};

/// What was done, as JSON: see `schema/pruned.schema.json`.
#[derive(Debug, Serialize)]
pub struct Pruned {
    pruned: u32,
    /// Channels that were read.
    channels: u64,
    /// Files that were removed.
    removed: u64,
    /// The bytes of these files.
    bytes: u64,
    /// Files that stay, channels not counted.
    kept: u64,
}

/// Removes from `bucket` the archives that no channel lists, nor has listed within `grace`, and that are older. Removes also
/// channels that a publisher has left unfinished for as long.
///
/// A channel that cannot be read ends the run, before anything is removed. A `grace` that a publication may outlast is
/// refused.
pub fn prune(bucket: &dyn Bucket, grace: Duration) -> Result<Pruned> {
    refuse_short(grace)?;
    // The archives come first: one that is published later is not among them.
    let archives = bucket.list(OBJECTS)?;
    let mut listed = Listings::read(bucket, grace)?;
    let unfinished = std::mem::take(&mut listed.unfinished);
    let archives = archives.into_iter().map(|file| (OBJECTS, file));
    let files = archives.chain(unfinished.into_iter().map(|file| (CHANNELS, file)));
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
        // A publisher that wants to list it has written it again.
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
        channels: listed.channels,
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

/// What all channels list.
struct Listings {
    /// When they were read.
    read: SystemTime,
    /// The number of channels.
    channels: u64,
    /// The archives that they list, or have listed within the grace.
    archives: HashSet<Digest>,
    /// Channels that publishers have begun to write.
    unfinished: Vec<Listed>,
}

impl Listings {
    fn read(bucket: &dyn Bucket, grace: Duration) -> Result<Self> {
        let read = SystemTime::now();
        let since = read.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = since.saturating_sub(grace).as_secs();
        let (mut channels, mut archives, mut unfinished) = (0, HashSet::new(), Vec::new());
        for file in bucket.list(CHANNELS)? {
            if file.name.starts_with(UNFINISHED) {
                unfinished.push(file);
                continue;
            }
            let Some(name) = ChannelName::of_file(&file.name) else {
                continue;
            };
            if let Some((channel, _)) = Channel::read(bucket, &name)? {
                channels += 1;
                archives.extend(channel.steps.into_iter().map(|step| step.sha256));
                let retired = channel.retired.into_iter();
                archives.extend(retired.filter(|old| old.time > since).map(|old| old.sha256));
            }
        }
        Ok(Self {
            read,
            channels,
            archives,
            unfinished,
        })
    }

    /// Whether a channel lists the archive of the file called `name`.
    fn has(&self, name: &str) -> bool {
        digest_of(name).is_some_and(|digest| self.archives.contains(&digest))
    }
}
