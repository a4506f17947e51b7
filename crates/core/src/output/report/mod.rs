//! Reports for the calling program: a manifest (a line for every entry) and a summary (one object for the
//! whole run), both JSON, versioned, and described in `schema/`.
//!
//! A path is reported exactly, whatever its bytes. A report is marked complete only if it is. The module
//! reads no repository and knows no archive format: the modules that decide about an entry fill in its
//! [`Record`].
//!
//! A version counts the changes that a reader must know of. New fields and reasons may appear in any
//! version, and a reader ignores unknown ones.

mod answers;
mod channel;
mod json;
mod manifest;
mod missing;
mod reports;
mod run_log;
mod run_origin;
mod summary;
mod unportable;

pub use answers::{ArchiveDifference, ArchiveResult, PathAnswer, difference};
pub use channel::{BANDS, Bands, Channel, ReportWriter};
pub use json::json_line;
pub use manifest::{
    EntryPosition, Lines, Listing, Manifest, ManifestChange, ManifestHeader, Positions, Record,
    write_deletion,
};
pub use missing::MissingList;
pub use reports::Reports;
pub use run_log::RunLog;
pub use run_origin::{RunOrigin, open_log};
pub use summary::{Blobs, ChangeCounts, Counts, Directories, Seconds, SentRange, Summary};
pub use unportable::Unportable;

/// The archived tree.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Subject {
    /// The commit in hexadecimal, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree in hexadecimal.
    pub tree: String,
    /// The base of a delta, a commit or a tree, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The change of a path since the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The path is new.
    Added,
    /// The content or the permission changed.
    Modified,
    /// The path was deleted.
    Deleted,
    /// The type changed, such as from file to link, so that the path cannot be overwritten.
    TypeChanged,
}

impl Status {
    /// git's letter for the change.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "A",
            Self::Modified => "M",
            Self::Deleted => "D",
            Self::TypeChanged => "T",
        }
    }
}
