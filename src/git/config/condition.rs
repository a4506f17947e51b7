//! The conditions of `includeIf` (git-config(1), "Conditional includes"; config.c of git).

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice, ByteVec};

use super::path::{PathContext, real_path};
use crate::git::wildmatch::Wildmatch;

/// What conditions ask about.
pub(super) struct Conditions<'a> {
    /// The git directory and the work tree, once they are known.
    pub(super) git_dir: Option<&'a Path>,
    pub(super) work_tree: Option<&'a Path>,
    /// The current directory as the user's shell calls it, if it is the directory in which git runs.
    pub(super) shell_directory: Option<&'a Path>,
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

impl Conditions<'_> {
    /// Decides the `condition` in the configuration file `file`. As in git, an unknown kind is false.
    pub(super) fn decide(&self, condition: &BStr, file: Option<&Path>) -> ConditionOutcome {
        // git complains about a pattern that counts from no file, and takes it for one that matches.
        let decided = |holds: Option<bool>| ConditionOutcome::Decided(holds.unwrap_or(true));
        if let Some((kind, pattern)) = condition.split_once_str(":") {
            let (kind, ignores_case) = match kind.strip_suffix(b"/i") {
                Some(kind) => (kind, true),
                None => (kind, false),
            };
            match kind {
                b"gitdir" => {
                    return decided(self.is_at(self.git_dir, pattern.into(), file, ignores_case));
                }
                b"worktree" => {
                    return decided(self.is_at(self.work_tree, pattern.into(), file, ignores_case));
                }
                b"onbranch" if !ignores_case => {
                    return ConditionOutcome::Decided(self.is_on_branch(pattern.into()));
                }
                _ => {}
            }
        }
        match condition.strip_prefix(b"hasconfig:remote.*.url:") {
            Some(pattern) => ConditionOutcome::ByUrl(pattern.into()),
            None => ConditionOutcome::Decided(false),
        }
    }

    /// Whether `pattern` matches `place`. `None` if the pattern counts from the directory of `file`, and there is no file.
    fn is_at(
        &self,
        place: Option<&Path>,
        pattern: &BStr,
        file: Option<&Path>,
        ignores_case: bool,
    ) -> Option<bool> {
        let Some(place) = place else {
            return Some(false);
        };
        let (literal, pattern) = self.pattern(pattern, file)?;
        let matches = |place: PathBuf| {
            let place = place.as_os_str().as_bytes();
            let Some((start, rest)) = place.split_at_checked(literal.len()) else {
                return false;
            };
            let is_start = if ignores_case {
                start.eq_ignore_ascii_case(&literal)
            } else {
                start == &literal[..]
            };
            is_start && glob(pattern.as_bstr(), rest.as_bstr(), ignores_case)
        };
        Some(real_path(place).is_some_and(matches) || matches(self.as_shell_says(place)))
    }

    /// The path of `place` with links, as git calls it: from the directory that the shell names.
    fn as_shell_says(&self, place: &Path) -> PathBuf {
        let below = self.shell_directory.and_then(|shell| {
            let real = shell.canonicalize().ok()?;
            let below = place.strip_prefix(real).ok()?;
            Some(shell.join(below))
        });
        below.unwrap_or_else(|| place.to_owned())
    }

    /// The pattern of a path, in two parts: one to be compared as it is, and one with wildcards.
    fn pattern(&self, pattern: &BStr, file: Option<&Path>) -> Option<(BString, BString)> {
        let home = self.paths.home.map(|home| {
            let real = real_path(Path::new(home));
            real.map_or_else(|| home.to_owned(), PathBuf::into_os_string)
        });
        let context = PathContext {
            home: home.as_deref(),
            ..self.paths
        };
        let mut pattern: BString = match context.expand(pattern) {
            Some(path) => path.as_os_str().as_bytes().into(),
            None => pattern.into(),
        };
        let mut literal = BString::default();
        if let Some(rest) = pattern.strip_prefix(b"./") {
            let directory = file?.canonicalize().ok()?;
            literal = directory.parent()?.as_os_str().as_bytes().into();
            literal.push_str("/");
            pattern = rest.into();
        } else if !pattern.starts_with(b"/") {
            pattern.insert_str(0, "**/");
        }
        with_stars(&mut pattern);
        Some((literal, pattern))
    }

    fn is_on_branch(&self, pattern: &BStr) -> bool {
        let mut pattern = pattern.to_owned();
        with_stars(&mut pattern);
        (self.branch)().is_some_and(|branch| glob(pattern.as_bstr(), branch.as_bstr(), false))
    }
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
