//! Excludes entries that a reader does not want or may not see, by name, size and content.
//!
//! The module turns the text of rules into verdicts. The module never reads an object, prints, or depends on an
//! archive format. A [`Disposition`] says how an entry is sent; its users need no rule.

pub mod access;
mod disposition;
pub mod exclude;
pub mod ignore;
pub mod large;
mod policy;
pub mod rule;
mod tree_rules;

use std::sync::Arc;

use access::AccessRules;
pub use disposition::{Disposition, OmissionReason, PlaceholderContent};
use exclude::{Decision, Exclude};
pub use policy::{Binary, Fallback, Limit, Policy, WITHIN_ALL};
use rule::Rule;
use sluice_git::tree::{Mode, Mount};
pub use tree_rules::TreeRules;

/// All rules about entries for one reader.
#[derive(Default)]
pub struct Filter {
    /// The access rules; without rules the reader may know everything.
    pub access: Option<Arc<AccessRules>>,
    /// The rules in files of the tree, which exclude entries by their path in the tree.
    pub in_tree: TreeRules,
    /// The rules of the user, which decide by the path in the archived tree, before those of the tree.
    pub given: Arc<Exclude>,
    /// Whether the rules in files of the tree are secret.
    pub has_secret_rules: bool,
    /// The policy for the remaining entries.
    pub policy: Policy,
    /// The place of the tree. Access rules, limits and the user's exclude rules see paths in the archived tree.
    pub mount: Mount,
    /// Whether submodules are archived with their contents. To the rules of the tree, submodules are directories then.
    pub enters_submodules: bool,
}

/// What the filter decides about a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryDecision {
    /// The directory passes.
    Passes,
    /// The directory is omitted.
    Excluded,
    /// The reader may not know that the directory exists.
    Denied,
}

impl Filter {
    /// The decision about everything below the directory `path`, which has no slash at its end.
    pub fn directory(&self, path: &[u8]) -> DirectoryDecision {
        let prunes = |access: &AccessRules| access.prunes(&self.mount.path(path));
        match &self.access {
            Some(access) if prunes(access) => DirectoryDecision::Denied,
            _ if !self.prunes(path) => DirectoryDecision::Passes,
            _ if self.allows_all(path) => DirectoryDecision::Excluded,
            // A report of the omission would reveal the directory.
            _ => DirectoryDecision::Denied,
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

    /// Whether the file, link or submodule at `path` is excluded.
    pub fn excludes(&self, path: &[u8], mode: Mode) -> bool {
        if self.is_entered(mode) {
            return self.prunes(path);
        }
        match self.decision(path, mode.is_directory()) {
            Some(decision) => decision.excludes,
            None => self.in_tree.excludes(path, mode),
        }
    }

    fn prunes(&self, path: &[u8]) -> bool {
        match self.decision(path, true) {
            Some(decision) => decision.excludes,
            None => self.in_tree.prunes(path),
        }
    }

    fn is_entered(&self, mode: Mode) -> bool {
        self.enters_submodules && mode == Mode::Submodule
    }

    /// The rule that excludes the file, link or submodule at `path`. The directories above are not excluded.
    pub fn rule(&self, path: &[u8], mode: Mode) -> Option<&Rule> {
        if self.is_entered(mode) {
            return self.pruning_rule(path);
        }
        match self.decision(path, mode.is_directory()) {
            Some(decision) => decision.excludes.then_some(decision.rule),
            None => self.in_tree.rule(path, mode),
        }
    }

    /// The rule that excludes all of the directory `path`. The directories above are not excluded.
    pub fn pruning_rule(&self, path: &[u8]) -> Option<&Rule> {
        match self.decision(path, true) {
            Some(decision) => decision.excludes.then_some(decision.rule),
            None => self.in_tree.pruning_rule(path),
        }
    }

    fn decision(&self, path: &[u8], is_directory: bool) -> Option<Decision<'_>> {
        // Most archives have no such rules, and a path in a submodule is a copy.
        if self.given.is_empty() {
            return None;
        }
        self.given.decide(&self.mount.path(path), is_directory)
    }
}
