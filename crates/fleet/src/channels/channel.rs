//! The list of what is published under a name, as JSON: see `schema/channel.schema.json`. Must not believe what a bucket
//! holds: an inconsistent list is refused.

use serde::{Deserialize, Serialize};

use crate::{
    apply::{ChannelOrigin, FilterHash, Id, Origin},
    bucket::{Bucket, Digest, Version, Versioned, no_bucket},
};
use sluice_base::error::{Error, Result};

use super::{
    address::{CHANNELS, ChannelAddress, ChannelName, is_bucket},
    chain::cheapest_chain,
    published_archive::PublishedArchive,
};

/// Counts changes of the layout.
const VERSION: u32 = 1;
/// The largest file of a channel, in bytes.
const MAX_LEN: u64 = 16 << 20;
/// The most channels that a hint names.
const HINTED: usize = 10;

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Channel {
    /// The version of the layout.
    channel: u32,
    /// Hash of all options that select files, without the commit. Only deltas with equal hashes can follow each other.
    pub(super) filters: String,
    /// The full archive that replaced all earlier ones, because its files had another content for the same commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edition: Option<Digest>,
    /// The newest commit.
    pub(super) target: PublishedCommit,
    /// The archives, the newest one last.
    pub(super) steps: Vec<PublishedArchive>,
    /// Archives that were listed before.
    pub(super) retired: Vec<Retired>,
}

/// A commit that is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedCommit {
    /// The commit.
    pub commit: String,
    /// The tree of the commit.
    pub tree: String,
    /// The time of the commit, in seconds since 1970.
    pub time: u64,
}

/// An archive that the channel listed before. Readers that have read the channel then may still want it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Retired {
    pub(super) sha256: Digest,
    /// When the channel gave the archive up, in seconds since 1970.
    pub(super) time: u64,
}

impl Channel {
    /// A channel of `target` through `steps`.
    pub(super) fn new(
        filters: String,
        target: PublishedCommit,
        steps: Vec<PublishedArchive>,
    ) -> Self {
        Self {
            channel: VERSION,
            filters,
            edition: None,
            target,
            steps,
            retired: Vec::new(),
        }
    }

    /// Read the channel `name`, with its version; `None` if there is none.
    pub(super) fn read(bucket: &dyn Bucket, name: &ChannelName) -> Result<Option<(Self, Version)>> {
        match Self::read_any(bucket, name)? {
            Some((channel, version)) => Ok(Some((channel?, version))),
            None => Ok(None),
        }
    }

    /// Read the channel `name` like [`Self::read`], with the version of a damaged one too.
    pub(super) fn read_any(
        bucket: &dyn Bucket,
        name: &ChannelName,
    ) -> Result<Option<(Result<Self>, Version)>> {
        let Some(Versioned { bytes, version }) = bucket.read(&name.file(), MAX_LEN)? else {
            return Ok(None);
        };
        let channel = Self::parse(&bytes).map_err(|reason| {
            Error::damaged(format!("cannot parse the file of channel '{name}'"))
                .caused_by(reason)
                .hinted(format!(
                    "git sluice publish --republish <bucket>/{name} <commit> replaces it"
                ))
        });
        Ok(Some((channel, version)))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            channel: u32,
        }
        let unread = |error: serde_json::Error| error.to_string();
        let Versioned { channel } = serde_json::from_slice(bytes).map_err(unread)?;
        if channel != VERSION {
            return Err(format!("version {channel} is not known"));
        }
        let channel: Self = serde_json::from_slice(bytes).map_err(unread)?;
        channel.check()?;
        Ok(channel)
    }

    /// Refuse ids that are none, and a target that no way leads to.
    fn check(&self) -> Result<(), String> {
        if Origin::new(self.filters.as_bytes()).is_none() {
            return Err("the key of the filters is no key".to_owned());
        }
        let bases = self.steps.iter().filter_map(|step| step.base.as_ref());
        let targets = self.steps.iter().map(|step| &step.target);
        let PublishedCommit { commit, tree, .. } = &self.target;
        for id in bases.chain(targets).chain([commit, tree]) {
            if Id::new(id.as_bytes()).is_none() {
                return Err(format!("'{}' is no object id", id.escape_default()));
            }
        }
        match cheapest_chain(&self.steps, None, commit) {
            Some(_) => Ok(()),
            None => Err("no archive leads to its target".to_owned()),
        }
    }

    /// Write the channel in place of the version that is `known`. `false` if another version is there by now.
    pub(super) fn write(
        &self,
        bucket: &dyn Bucket,
        name: &ChannelName,
        known: Option<&Version>,
    ) -> Result<bool> {
        // Readers refuse an inconsistent channel, and so does the next publisher.
        let checked = self
            .check()
            .and_then(|()| serde_json::to_vec_pretty(self).map_err(|error| error.to_string()));
        let mut bytes =
            checked.map_err(|reason| Error::fatal("cannot write the channel").caused_by(reason))?;
        bytes.push(b'\n');
        bucket.replace(&name.file(), &bytes, known)
    }

    /// Hash of all that decides about the content of a directory, without the commit: the edition includes the filters.
    pub(super) fn origin(&self) -> Option<ChannelOrigin> {
        let edition = self.edition.as_ref().map(Digest::to_string);
        Some(ChannelOrigin {
            key: Origin::new(edition.as_ref().unwrap_or(&self.filters).as_bytes())?,
            filters: FilterHash::new(self.filters.as_bytes()),
        })
    }
}

/// The error of a place without a channel in `bucket`.
pub(super) fn not_there(bucket: &dyn Bucket, place: &ChannelAddress) -> Error {
    // Who may read a store may be unable to list it, so only a directory tells.
    let is_directory = place.bucket.path().is_some();
    if is_directory && !is_bucket(bucket).unwrap_or(true) {
        return no_bucket(place.bucket.to_string());
    }
    let error = Error::not_there(format!(
        "there is no channel '{}' in '{}'",
        place.channel, place.bucket
    ));
    if bucket.has_refused() {
        error
    .caused_by("the store refuses to show it, as it also does with a key that may not read it")
    .hinted("check the key, or create the channel: git sluice publish <bucket>/<channel> <commit>")
    } else {
        let files = is_directory.then(|| bucket.list(CHANNELS).unwrap_or_default());
        let files = files.iter().flatten();
        let names = files.filter_map(|file| ChannelName::of_file(&file.name));
        let mut names: Vec<_> = names.map(|name| name.to_string()).collect();
        names.sort();
        names.truncate(HINTED);
        let known = match &*names.join(", ") {
            "" => String::new(),
            names => format!(" (the bucket has channels such as {names})"),
        };
        error.hinted(format!(
            "check the name{known}, or create the channel: git sluice publish <bucket>/<channel> <commit>"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::published_archive::tests::step, Channel, PublishedCommit};

    fn channel() -> Channel {
        let target = PublishedCommit {
            commit: "b".repeat(40),
            tree: "c".repeat(40),
            time: 1,
        };
        let steps = vec![step(None, "a", 9), step(Some("a"), "b", 1)];
        Channel::new("f".repeat(64), target, steps)
    }

    #[test]
    fn views_are_read_as_they_were_written() {
        let channel = channel();
        let bytes = serde_json::to_vec(&channel).expect("JSON");
        assert_eq!(Channel::parse(&bytes), Ok(channel));
    }

    #[test]
    fn nonsense_is_refused() {
        let text = serde_json::to_string(&channel()).expect("JSON");
        for (old, new, reason) in [
            ("\"channel\":1", "\"channel\":2", "version 2 is not known"),
            (&*"f".repeat(64), "f", "the key of the filters is no key"),
            (&*"c".repeat(40), "../c", "'../c' is no object id"),
            (&*"a".repeat(40), "HEAD", "'HEAD' is no object id"),
            (
                "\"base\":null",
                &format!("\"base\":\"{}\"", "b".repeat(40)),
                "no archive leads to its target",
            ),
        ] {
            assert_eq!(
                Channel::parse(text.replacen(old, new, 9).as_bytes()),
                Err(reason.to_owned())
            );
        }
        for (old, new) in [
            ("{", ""),
            ("\"size\":9", "\"size\":-9"),
            ("0009\"", "../9\""),
        ] {
            assert!(
                Channel::parse(text.replace(old, new).as_bytes()).is_err(),
                "{new}"
            );
        }
    }
}
