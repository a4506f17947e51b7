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
mod summary;

pub use channel::{Channel, Outlet};
pub use manifest::{Manifest, Record};
pub use summary::{Blobs, Counts, Directories, Seconds, Summary, peak_memory};

/// What is archived.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Subject {
    /// The commit in hexadecimal, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree in hexadecimal.
    pub tree: String,
}

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// It is in the archive with its content.
    Content,
    /// It is in the archive, with something else in place of its content.
    Placeholder(Reason),
    /// It is not in the archive.
    Omitted(Reason),
}

impl Disposition {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Placeholder(_) => "placeholder",
            Self::Omitted(_) => "omitted",
        }
    }

    /// Why it is not there as it is, if so.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Content => None,
            Self::Placeholder(reason) | Self::Omitted(reason) => Some(reason),
        }
    }
}

/// Why the content of an entry is not in the archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// An ignore rule.
    Ignored,
    /// Above the size limit.
    TooLarge,
    /// Not text.
    Binary,
    /// The repository does not have the object.
    Missing,
    /// A commit of another repository.
    Submodule,
}

impl Reason {
    /// All of them, each at the index that it is as a number.
    pub const ALL: [Self; 5] = [
        Self::Ignored,
        Self::TooLarge,
        Self::Binary,
        Self::Missing,
        Self::Submodule,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::TooLarge => "too-large",
            Self::Binary => "binary",
            Self::Missing => "missing",
            Self::Submodule => "submodule",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn reasons_are_indices() {
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at);
        }
    }
}
