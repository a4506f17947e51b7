//! Excludes entries that a reader does not want or may not see, by name, size and content.
//!
//! The module turns the text of rules into verdicts. The module never reads an object, prints, or depends on an
//! archive format. A [`Disposition`] says how an entry is sent; its users need no rule.

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

/// All rules about entries for one reader.
#[derive(Default)]
pub struct Filter {
    /// The access rules; without rules the reader may know everything.
    pub access: Option<Arc<AccessRules>>,
    /// The ignore rules, which omit entries by path.
    pub ignore: Ignore,
    /// Whether the lines of the ignore file are secret.
    pub secret_ignore: bool,
    /// The policy for the remaining entries.
    pub policy: Policy,
}

/// The verdict on a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The directory passes.
    Passes,
    /// The directory is omitted.
    Ignored,
    /// The reader may not know that the directory exists.
    Denied,
}

impl Filter {
    /// The verdict on everything below the directory `path`, which has no slash at its end.
    pub fn directory(&self, path: &[u8]) -> Verdict {
        match &self.access {
            Some(access) if access.prunes(path) => Verdict::Denied,
            _ if !self.ignore.prunes(path) => Verdict::Passes,
            _ if self.allows_all(path) => Verdict::Ignored,
            // A report of the omission would reveal the directory.
            _ => Verdict::Denied,
        }
    }

    /// Whether the reader may know the directory `path` with everything below.
    pub fn allows_all(&self, path: &[u8]) -> bool {
        self.access
            .as_ref()
            .is_none_or(|access| access.admits_all(path))
    }

    /// Whether the reader may know the file, link or submodule at `path`.
    pub fn allows(&self, path: &[u8]) -> bool {
        self.access
            .as_ref()
            .is_none_or(|access| access.allows(path))
    }
}
