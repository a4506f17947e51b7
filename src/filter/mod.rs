//! What a reader does not want or may not see: decided by name, by size and by content.
//!
//! Rules come in as text and leave as verdicts. Nothing here reads an object, knows an archive
//! format, or prints; what becomes of an entry is a [`Disposition`], and those who carry it out need no rule.

pub mod access;
mod disposition;
pub mod doublestar;
pub mod glob;
mod index;
mod prefixes;
pub mod ignore;
pub mod large;
mod policy;

use std::sync::Arc;

use access::AccessRules;
pub use disposition::{Disposition, OmissionReason, StandIn};
use ignore::Ignore;
pub use policy::{Binary, Limit, Policy, Remedy, WITHIN_ALL};

/// All that keeps an entry from being sent as it is.
#[derive(Default)]
pub struct Filter {
    /// What may be known; everything if there are no such rules.
    pub access: Option<Arc<AccessRules>>,
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
