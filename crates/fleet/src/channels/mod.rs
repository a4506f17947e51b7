//! Published archives: machines without a repository keep directories at the newest commit.
//!
//! A publisher puts full archives and deltas into a bucket, and lists them in a *channel*: the name for one repository, one
//! set of filters and one branch. A reader takes the shortest way from what its directory holds to the target of the
//! channel, and checks each archive before the archive changes anything.
//!
//! The module knows channels and the bytes of archives. It must not know git, nor how an archive is made.
//!
//! # Layout, version 1
//!
//! ```text
//! v1/channels/<channel>.json             the steps of a channel: the one file that changes
//! v1/objects/<sha-256>.tar.zst     an archive, named by its bytes
//! ```
//!
//! The channel is replaced only if it is still the one that was read, so that publishers cannot lose a step of each other.
//! Archives are there before the channel lists them, and a publisher looks for them once more when it does. An archive that no
//! channel lists is harmless; `prune` removes it when it is old (`age`).

mod age;
mod address;
mod prune;
mod publish;
mod published_archive;
mod update;
mod channel;
mod chain;

pub use address::{ChannelAddress, ChannelName, is_bucket};
pub use channel::PublishedCommit;
pub use prune::{Pruned, prune};
pub use publish::{ArchiveMaker, Conditions, History, Limits, Made, Published, publish};
pub use update::{Update, update};
