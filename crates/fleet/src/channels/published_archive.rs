//! One archive of a channel.

use serde::{Deserialize, Serialize};

use crate::bucket::Digest;

/// An archive: a full one, or a delta.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PublishedArchive {
    /// The commit that a delta goes over; none for a full archive.
    pub(super) base: Option<String>,
    /// The commit that a directory holds with the archive.
    pub(super) target: String,
    /// The SHA-256 of the archive, which is also its name.
    pub(super) sha256: Digest,
    /// The size of the archive, in bytes.
    pub(super) size: u64,
    /// The number of entries.
    pub(super) entries: u64,
    /// The number of deleted paths.
    pub(super) deletions: u64,
    /// When the archive was published, in seconds since 1970.
    pub(super) time: u64,
    /// Whether it has files that may have another content when the commit is archived again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) varies: bool,
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Digest, PublishedArchive};

    /// A step with so many bytes.
    pub(crate) fn step(base: Option<&str>, target: &str, size: u64) -> PublishedArchive {
        PublishedArchive {
            base: base.map(|digit| digit.repeat(40)),
            target: target.repeat(40),
            sha256: Digest::try_from(format!("{size:064x}")).expect("hexadecimal"),
            size,
            entries: 1,
            deletions: 0,
            time: 0,
            varies: false,
        }
    }
}
