//! Finds the work tree as git does (`setup.c`). gix differs where `GIT_DIR` is set without a work tree, and
//! inside a git directory.

use std::{
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use gix::bstr::BString;

use super::environment::Environment;

/// The work tree of a repository, and git's position in it.
pub(super) struct WorkTree {
    /// The top of the work tree, if there is one.
    pub(super) top: Option<PathBuf>,
    /// The directory in which git runs: the top of the work tree from anywhere inside it, else the current
    /// directory.
    pub(super) directory: PathBuf,
    /// The current directory relative to the top: empty, or with a slash at its end.
    pub(super) prefix: BString,
    /// Whether there is no work tree, and no setting claims one.
    pub(super) is_bare: bool,
}

impl WorkTree {
    pub(super) fn find(repository: &gix::Repository, environment: &Environment) -> Self {
        let config = repository.config_snapshot();
        let top = match environment.is_served {
            true => None,
            false => top(repository, &config, environment),
        };
        let is_bare = top.is_none() && config.boolean("core.bare") != Some(false);
        let cwd = real(&environment.cwd);
        let top = top.map(|top| real(&top));
        let inside = top.as_ref().and_then(|top| {
            let below = cwd.strip_prefix(top).ok()?.to_owned();
            Some((top.clone(), below))
        });
        match inside {
            Some((directory, below)) => Self {
                top,
                directory,
                prefix: with_slash(below),
                is_bare,
            },
            None => Self {
                top,
                directory: environment.cwd.clone(),
                prefix: BString::default(),
                is_bare,
            },
        }
    }
}

/// The top of the work tree.
fn top(
    repository: &gix::Repository,
    config: &gix::config::Snapshot<'_>,
    environment: &Environment,
) -> Option<PathBuf> {
    let is_named = environment.has_work_tree || config.string("core.worktree").is_some();
    let is_implied = environment.git_dir.is_some() && environment.implicit_work_tree;
    match (is_named, &environment.git_dir) {
        (true, _) => repository.workdir().map(ToOwned::to_owned),
        (false, Some(_)) if is_implied && config.boolean("core.bare") != Some(true) => {
            Some(environment.cwd.clone())
        }
        (false, Some(_)) => None,
        (false, None) if real(&environment.cwd).starts_with(real(repository.git_dir())) => None,
        (false, None) => repository.workdir().map(ToOwned::to_owned),
    }
}

fn with_slash(below: PathBuf) -> BString {
    let mut prefix = below.into_os_string().into_vec();
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix.into()
}

/// The path without symbolic links. A path that does not exist is unchanged.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
