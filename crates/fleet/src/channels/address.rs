//! The place of a channel: `<bucket>/<channel>`. Names of the files in a bucket.

use std::fmt;

use crate::bucket::{Bucket, BucketUrl, Digest, shown};
use sluice_base::error::{Error, Result};

/// The folder that makes a place a bucket.
pub(super) const TOP: &str = "v1";
/// The folder of archives.
pub(super) const OBJECTS: &str = "v1/objects";
/// The folder of channels.
pub(super) const CHANNELS: &str = "v1/channels";
/// The longest name of a channel, in bytes.
const MAX_NAME: usize = 200;

/// A channel in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelAddress {
    /// The bucket.
    pub bucket: BucketUrl,
    /// The channel.
    pub channel: ChannelName,
}

/// The name of a channel: letters, digits, `.`, `_` and `-`, and no `.` or `-` at its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelName(String);

impl ChannelName {
    /// Parse a name.
    pub fn new(name: &str) -> Option<Self> {
        let is_sound =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = (1..=MAX_NAME).contains(&name.len())
            && name.bytes().all(is_sound)
            && !name.starts_with(['.', '-']);
        fits.then(|| Self(name.to_owned()))
    }

    /// The file of the channel.
    pub(super) fn file(&self) -> String {
        format!("{CHANNELS}/{self}.json")
    }

    /// The channel of the file called `name` in the folder of channels.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        Self::new(name.strip_suffix(".json")?)
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ChannelAddress {
    /// Parse `<bucket>/<channel>`.
    pub fn parse(text: &str) -> Result<Self> {
        let (bucket, name) = text.rsplit_once('/').unwrap_or((".", text));
        let is_bucket = !bucket.ends_with(":/");
        match ChannelName::new(name).filter(|_| is_bucket) {
            Some(channel) => Ok(Self {
                bucket: BucketUrl::new(match bucket {
                    "" => "/",
                    other => other,
                }),
                channel,
            }),
            None => Err(
                Error::fatal(format!("'{}' is not <bucket>/<channel>", shown(text)))
                    .hinted("the name of a channel has letters, digits, '.', '_' and '-'"),
            ),
        }
    }
}

impl fmt::Display for ChannelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bucket, self.channel)
    }
}

/// Whether a bucket was created at the place that `bucket` names.
pub fn is_bucket(bucket: &dyn Bucket) -> Result<bool> {
    bucket.has_folder(TOP)
}

/// The file of an archive.
pub(super) fn object(digest: &Digest) -> String {
    format!("{OBJECTS}/{digest}{SUFFIX}")
}

/// The archive of the file called `name` in the folder of archives.
pub(super) fn digest_of(name: &str) -> Option<Digest> {
    let digest = name.strip_suffix(SUFFIX)?;
    Digest::try_from(digest.to_owned()).ok()
}

const SUFFIX: &str = ".tar.zst";

#[cfg(test)]
mod tests {
    use super::ChannelAddress;

    #[test]
    fn places_are_a_bucket_and_a_channel() {
        let parsed = |text: &str| {
            let place = ChannelAddress::parse(text).ok()?;
            Some((place.bucket.to_string(), place.channel.to_string()))
        };
        let is = |bucket: &str, channel: &str| Some((bucket.to_owned(), channel.to_owned()));
        assert_eq!(parsed("/srv/store/main"), is("/srv/store", "main"));
        assert_eq!(parsed("/main"), is("/", "main"));
        assert_eq!(parsed("main"), is(".", "main"));
        assert_eq!(parsed("s3://b/main"), is("s3://b", "main"));
        assert_eq!(
            parsed("s3://b/team/v1.2_x-y"),
            is("s3://b/team", "v1.2_x-y")
        );
        for text in [
            "s3://main",
            "a/",
            "a/..",
            "a/.git",
            "a/-x",
            "a/b c",
            "a/b\n",
            "",
        ] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }
}
