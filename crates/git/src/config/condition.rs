//! The conditions of `includeIf` (git-config(1), "Conditional includes"; config.c of git).

use std::{os::unix::ffi::OsStrExt, path::Path};

use bstr::{BStr, BString, ByteSlice, ByteVec};

use super::path::{PathContext, real_path};
use crate::wildmatch::Wildmatch;
use sluice_base::error::{Error, Result, format_bytes};

/// What conditions ask about.
pub(super) struct Conditions<'a> {
    /// The git directory, once it is known.
    pub(super) git_dir: Option<&'a Path>,
    /// The git directory as git calls it, with links.
    pub(super) linked_git_dir: Option<&'a Path>,
    /// The work tree, by its real path.
    pub(super) work_tree: Option<&'a Path>,
    pub(super) paths: PathContext<'a>,
    /// Finds the name of the current branch.
    pub(super) branch: &'a dyn Fn() -> Option<BString>,
}

/// How a condition is decided.
pub(super) enum ConditionOutcome {
    /// At once.
    Decided(bool),
    /// By the URLs of all remotes, one of which has to match this pattern.
    ByUrl(BString),
}

/// The pattern of a path, in two parts: the start, which is compared as it is, and the rest, with wildcards.
struct PathPattern {
    literal: BString,
    rest: BString,
    ignores_case: bool,
}

impl Conditions<'_> {
    /// Decides the `condition` in the configuration file `file`. As in git, an unknown kind is false.
    pub(super) fn decide(&self, condition: &BStr, file: Option<&Path>) -> Result<ConditionOutcome> {
        let real = self.git_dir.and_then(real_path);
        let git_dir = real.as_deref().zip(self.linked_git_dir);
        // git knows the work tree by its real path alone.
        let work_tree = self.work_tree.zip(self.work_tree);
        for (kind, paths, ignores_case) in [
            ("gitdir:", git_dir, false),
            ("gitdir/i:", git_dir, true),
            ("worktree:", work_tree, false),
            ("worktree/i:", work_tree, true),
        ] {
            let Some(pattern) = condition.strip_prefix(kind.as_bytes()) else {
                continue;
            };
            let Some(paths) = paths else {
                return Ok(ConditionOutcome::Decided(false));
            };
            let pattern = self.path_pattern(pattern.into(), file, ignores_case)?;
            // git complains about a pattern that counts from no file, and takes it for one that matches.
            let holds = pattern.is_none_or(|pattern| pattern.matches(paths.into()));
            return Ok(ConditionOutcome::Decided(holds));
        }
        if let Some(pattern) = condition.strip_prefix(b"onbranch:") {
            return Ok(ConditionOutcome::Decided(self.is_on_branch(pattern.into())));
        }
        Ok(match condition.strip_prefix(b"hasconfig:remote.*.url:") {
            Some(pattern) => ConditionOutcome::ByUrl(pattern.into()),
            None => ConditionOutcome::Decided(false),
        })
    }

    /// The pattern that `pattern` is short for (`prepare_include_condition_pattern` of git's config.c). `None` if it counts from
    /// the directory of `file`, and there is no file.
    fn path_pattern(
        &self,
        pattern: &BStr,
        file: Option<&Path>,
        ignores_case: bool,
    ) -> Result<Option<PathPattern>> {
        let mut rest = self.expand(pattern)?;
        let mut literal = BString::default();
        if rest.starts_with(b"./") {
            let Some(file) = file else {
                return Ok(None);
            };
            let file = real_path(file).ok_or_else(|| invalid_path(file))?;
            let file = file.as_os_str().as_bytes();
            let directory = file.rfind_byte(b'/').unwrap_or_default();
            literal = [&file[..directory], b"/"].concat().into();
            rest.drain(..2);
            // Also if the directory is all that is named.
            if rest.is_empty() {
                rest.push_str("**");
            }
        } else if !rest.starts_with(b"/") {
            rest.insert_str(0, "**/");
        }
        with_stars(&mut rest);
        Ok(Some(PathPattern {
            literal,
            rest,
            ignores_case,
        }))
    }

    /// The pattern with the real path of a home in place of `~`.
    fn expand(&self, pattern: &BStr) -> Result<BString> {
        let is_home = pattern == "~" || pattern.starts_with(b"~/");
        let home = self.paths.home.map(Path::new).filter(|_| is_home);
        let home = home
            .map(|home| real_path(home).ok_or_else(|| invalid_path(home)))
            .transpose()?;
        let context = PathContext {
            home: home.as_deref().map(Path::as_os_str),
            ..self.paths
        };
        Ok(match context.expand(pattern) {
            Some(path) => path.as_os_str().as_bytes().into(),
            None => pattern.into(),
        })
    }

    fn is_on_branch(&self, pattern: &BStr) -> bool {
        let mut pattern = pattern.to_owned();
        with_stars(&mut pattern);
        (self.branch)().is_some_and(|branch| glob(pattern.as_bstr(), branch.as_bstr(), false))
    }
}

impl PathPattern {
    /// Whether the real path matches, or the one with links (`include_by_path` of git's config.c). The second one does not count
    /// if the first one begins otherwise.
    fn matches(&self, paths: [&Path; 2]) -> bool {
        for path in paths {
            let path = path.as_os_str().as_bytes();
            let Some((start, rest)) = path.split_at_checked(self.literal.len()) else {
                return false;
            };
            let is_start = if self.ignores_case {
                start.eq_ignore_ascii_case(&self.literal)
            } else {
                start == &self.literal[..]
            };
            if !is_start {
                return false;
            }
            if glob(self.rest.as_bstr(), rest.as_bstr(), self.ignores_case) {
                return true;
            }
        }
        false
    }
}

fn invalid_path(path: &Path) -> Error {
    let shown = path.as_os_str().as_bytes();
    Error::fatal(format_bytes("Invalid path '{}'", &[shown]))
}

/// A directory means all that is in it.
fn with_stars(pattern: &mut BString) {
    if pattern.ends_with(b"/") {
        pattern.push_str("**");
    }
}

/// Whether `pattern` matches `text`. Only `**` matches a slash.
pub(super) fn glob(pattern: &BStr, text: &BStr, ignores_case: bool) -> bool {
    let wildmatch = Wildmatch {
        slashes_count: true,
        ignores_case,
    };
    wildmatch.matches(pattern, text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ConditionOutcome, Conditions, PathContext};
    use crate::program::GitLocation;

    /// No released git knows this condition.
    #[test]
    fn a_work_tree_has_one_path() {
        let conditions = Conditions {
            git_dir: Some(Path::new("/")),
            linked_git_dir: Some(Path::new("/g")),
            work_tree: Some(Path::new("/real/w")),
            paths: PathContext {
                home: None,
                git: &GitLocation::default(),
            },
            branch: &|| None,
        };
        for (condition, expected) in [
            ("worktree:/real/w", true),
            ("worktree:w", true),
            ("worktree:/real/", true),
            ("worktree/i:/REAL/W", true),
            ("worktree:/REAL/w", false),
            ("worktree:w/", false),
            ("worktree:/g", false),
            ("gitdir:/g", true),
            ("gitdir:/real/", false),
            ("work:w", false),
        ] {
            let verdict = conditions.decide(condition.into(), None).unwrap();
            assert!(
                matches!(verdict, ConditionOutcome::Decided(holds) if holds == expected),
                "{condition}"
            );
        }
    }
}
