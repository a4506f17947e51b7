//! What a reader does not want or may not see: decided by name, by size and by content.
//!
//! Rules come in as text and leave as verdicts. Nothing here reads an object, knows an archive
//! format, or prints; what becomes of an entry is a [`Disposition`], and those who carry it out need no rule.

pub mod access;
pub mod doublestar;
pub mod glob;
mod index;
mod prefixes;
pub mod ignore;
pub mod large;
mod policy;

use std::sync::Arc;

use access::Access;
use ignore::Ignore;
pub use policy::{Binary, Limit, Policy, Remedy, WITHIN_ALL};

/// All that keeps an entry from being sent as it is.
#[derive(Default)]
pub struct Filter {
    /// What may be known; everything if there are no such rules.
    pub access: Option<Arc<Access>>,
    /// What is left out by its path.
    pub ignore: Ignore,
    /// Whether the lines of an ignore file may not be known.
    pub secret_ignore: bool,
    /// What is done about the rest.
    pub policy: Policy,
}

/// What is said of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against it.
    Passes,
    /// It is left out.
    Ignored,
    /// Nobody may know that it is there.
    Denied,
}

impl Filter {
    /// What is said of everything below the directory `path`, which has no slash at its end.
    pub fn directory(&self, path: &[u8]) -> Verdict {
        match &self.access {
            Some(access) if access.prunes(path) => Verdict::Denied,
            _ if !self.ignore.prunes(path) => Verdict::Passes,
            _ if self.allows_all(path) => Verdict::Ignored,
            // That something is ignored in it tells that it is there.
            _ => Verdict::Denied,
        }
    }

    /// Whether the directory `path` may be known with all that is below it.
    pub fn allows_all(&self, path: &[u8]) -> bool {
        self.access
            .as_ref()
            .is_none_or(|access| access.admits_all(path))
    }

    /// Whether the entry at `path`, which is no directory, may be known.
    pub fn allows(&self, path: &[u8]) -> bool {
        self.access
            .as_ref()
            .is_none_or(|access| access.allows(path))
    }
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is sent with its content.
    Content,
    /// Its name is sent, and this in the place of its content.
    Placeholder(Reason, StandIn),
    /// It is not sent.
    Omitted(Reason),
}

impl Disposition {
    /// As reports have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Placeholder(..) => "placeholder",
            Self::Omitted(_) => "omitted",
        }
    }

    /// Why it is not sent as it is, if so.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Content => None,
            Self::Placeholder(reason, _) | Self::Omitted(reason) => Some(reason),
        }
    }
}

/// Why an entry is not sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An ignore rule matches its path.
    Ignored,
    /// It has more bytes than the limit allows.
    TooLarge,
    /// Its content is binary.
    Binary,
    /// Its content is not in the repository.
    Missing,
    /// It is a submodule.
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

    /// As reports have it.
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

/// What is sent in the place of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// Nothing.
    Empty,
    /// Three NUL bytes: too short for anything but a binary file.
    Nuls,
    /// A hole of so many bytes.
    Sparse(u64),
}

impl StandIn {
    /// Its bytes, if they are written out.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Nuls => &[0; 3],
            Self::Empty | Self::Sparse(_) => &[],
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
