//! The rules in files of a tree, in the grammar that the user or the profile has chosen.

use super::{exclude::Exclude, ignore::Ignore, rule::Rule};
use sluice_git::tree::Mode;

/// The rules in files of a tree.
pub enum TreeRules {
    /// Rules of gitignore(5).
    Gitignore(Exclude),
    /// Globs for whole paths, as `.sourcegraph/ignore` has them.
    Sourcegraph(Ignore),
}

impl Default for TreeRules {
    fn default() -> Self {
        Self::Gitignore(Exclude::default())
    }
}

/// A path is tested with an index. The rule that decides is searched for reports only.
impl TreeRules {
    /// Whether a rule excludes the file, link or submodule at `path`.
    pub(super) fn excludes(&self, path: &[u8], mode: Mode) -> bool {
        match self {
            Self::Gitignore(exclude) => excluding(exclude, path, mode.is_directory()).is_some(),
            Self::Sourcegraph(ignore) => ignore.ignores(path),
        }
    }

    /// Whether a rule excludes all of the directory `path`.
    pub(super) fn prunes(&self, path: &[u8]) -> bool {
        match self {
            Self::Gitignore(exclude) => excluding(exclude, path, true).is_some(),
            Self::Sourcegraph(ignore) => ignore.prunes(path),
        }
    }

    /// The rule that excludes the file, link or submodule at `path`.
    pub(super) fn rule(&self, path: &[u8], mode: Mode) -> Option<&Rule> {
        match self {
            Self::Gitignore(exclude) => excluding(exclude, path, mode.is_directory()),
            Self::Sourcegraph(ignore) => ignore.rule(path),
        }
    }

    /// The rule that excludes all of the directory `path`.
    pub(super) fn pruning_rule(&self, path: &[u8]) -> Option<&Rule> {
        match self {
            Self::Gitignore(exclude) => excluding(exclude, path, true),
            Self::Sourcegraph(ignore) => ignore.pruning_rule(path),
        }
    }
}

fn excluding<'a>(exclude: &'a Exclude, path: &[u8], is_directory: bool) -> Option<&'a Rule> {
    let decision = exclude.decide(path, is_directory)?;
    decision.excludes.then_some(decision.rule)
}
