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

use crate::git::tree::{Mode, Mount};
use access::AccessRules;
pub use disposition::{Disposition, OmissionReason, PlaceholderContent};
use ignore::{Ignore, Rule};
pub use policy::{Binary, Fallback, Limit, Policy, WITHIN_ALL};

/// All rules about entries for one reader.
#[derive(Default)]
pub struct Filter {
    /// The access rules; without rules the reader may know everything.
    pub access: Option<Arc<AccessRules>>,
    /// The ignore rules of the tree, which omit entries by their path in the tree.
    pub ignore: Ignore,
    /// The ignore rules of the user, which omit entries by their path in the archived tree.
    pub given: Arc<Ignore>,
    /// Whether the lines of the ignore file are secret.
    pub secret_ignore: bool,
    /// The policy for the remaining entries.
    pub policy: Policy,
    /// The place of the tree. Access rules, limits and the user's ignore rules see paths in the archived tree.
    pub mount: Mount,
    /// Whether submodules are archived with their contents. To the ignore rules, submodules are directories then.
    pub enters_submodules: bool,
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
        let prunes = |access: &AccessRules| access.prunes(&self.mount.path(path));
        match &self.access {
            Some(access) if prunes(access) => Verdict::Denied,
            _ if !self.prunes(path) => Verdict::Passes,
            _ if self.allows_all(path) => Verdict::Ignored,
            // A report of the omission would reveal the directory.
            _ => Verdict::Denied,
        }
    }

    /// Whether the reader may know the directory `path` with everything below.
    pub fn allows_all(&self, path: &[u8]) -> bool {
        self.access
            .as_ref()
            .is_none_or(|access| access.admits_all(&self.mount.path(path)))
    }

    /// Whether the reader may know the file, link or submodule at `path`.
    pub fn allows(&self, path: &[u8]) -> bool {
        self.access
            .as_ref()
            .is_none_or(|access| access.allows(&self.mount.path(path)))
    }

    /// Whether the file, link or submodule at `path` is ignored.
    pub fn ignores(&self, path: &[u8], mode: Mode) -> bool {
        if self.is_entered(mode) {
            self.prunes(path)
        } else {
            self.ignore.ignores(path) || self.given.ignores(&self.mount.path(path))
        }
    }

    fn is_entered(&self, mode: Mode) -> bool {
        self.enters_submodules && mode == Mode::Submodule
    }

    fn prunes(&self, path: &[u8]) -> bool {
        self.ignore.prunes(path) || self.given.prunes(&self.mount.path(path))
    }

    /// The first rule that ignores the file, link or submodule at `path`.
    pub fn rule(&self, path: &[u8], mode: Mode) -> Option<&Rule> {
        if self.is_entered(mode) {
            return self.pruning_rule(path);
        }
        let own = self.ignore.rule(path);
        own.or_else(|| self.given.rule(&self.mount.path(path)))
    }

    /// The first rule that ignores all of the directory `path`.
    pub fn pruning_rule(&self, path: &[u8]) -> Option<&Rule> {
        let own = self.ignore.pruning_rule(path);
        own.or_else(|| self.given.pruning_rule(&self.mount.path(path)))
    }
}
