//! What a calling program reads beside the archive: a manifest (a line for every entry) and a summary
//! (one object for the whole run), both JSON, both versioned, both described in `schema/`.
//!
//! A path survives exactly, whatever its bytes. Neither ever says that something is complete when it
//! is not, and nothing here reads a repository or knows a format: who decides about an entry fills in
//! its [`Record`].
//!
//! The versions count changes that a reader must know of. Fields may come at any time, and a reader
//! ignores those that it does not know; so may reasons.

mod channel;
mod json;
mod manifest;
mod progress;
mod reports;
mod summary;

pub use channel::{Channel, Outlet};
pub use manifest::{Manifest, Past, Record, gone};
pub use progress::Meter;
pub use reports::{Figures, Reports};
pub use summary::{Blobs, ChangeCounts, Counts, Directories, Seconds, Summary, peak_memory};

/// What is archived.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Subject {
    /// The commit in hexadecimal, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree in hexadecimal.
    pub tree: String,
    /// What it was compared with, a commit or a tree, in hexadecimal, if only what changed is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// What happened to a path since the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is new.
    Added,
    /// Its content or its permission changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It was a file and is a link, or whatever else cannot be written over.
    TypeChanged,
}

impl Status {
    /// As it is written; git's letters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "A",
            Self::Modified => "M",
            Self::Deleted => "D",
            Self::TypeChanged => "T",
        }
    }
}
