//! Finds the repository that a client of a server names, as `git upload-archive` finds it.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use bstr::ByteSlice;

use super::{
    discover::{is_git_directory, read_gitfile},
    owner::is_own,
};
use crate::{environment::Environment, program};
use sluice_base::error::{Error, Result, format_bytes};

/// The suffixes that are tried after the path, in this order.
const SUFFIXES: [&str; 4] = ["/.git", "", ".git/.git", ".git"];

/// The git directory of the repository at `path`. The owner is checked, so that no client is served from a
/// repository that another user has prepared.
pub fn git_dir(path: &OsStr, environment: &Environment) -> Result<PathBuf> {
    let found = find(path, environment)?;
    if let Some(found) = &found
        && found.is_ours(environment)
    {
        return Ok(found.git_dir.clone());
    }
    // Only git knows the message of each refusal.
    match (found, program::check_served(&environment.location, path)) {
        (Some(found), Some(Ok(()))) => Ok(found.git_dir),
        (_, Some(Err(refused))) => Err(refused),
        (Some(found), None) => Err(Error::fatal(format_bytes(
            "detected dubious ownership in repository at '{}'",
            &[found.entrance.as_os_str().as_bytes()],
        ))),
        (None, _) => Err(Error::fatal(format_bytes(
            "'{}' does not appear to be a git repository",
            &[path.as_bytes()],
        ))),
    }
}

/// A repository that a client names.
struct ServedRepository {
    /// The directory, or the file that points to the git directory.
    entrance: PathBuf,
    git_dir: PathBuf,
}

impl ServedRepository {
    fn is_ours(&self, environment: &Environment) -> bool {
        let sudo_uid = environment.discovery.sudo_uid.as_deref();
        is_own(&self.entrance, sudo_uid) && is_own(&self.git_dir, sudo_uid)
    }
}

fn find(path: &OsStr, environment: &Environment) -> Result<Option<ServedRepository>> {
    let named = without_slashes(path.as_bytes());
    let base = if named.starts_with(b"~") {
        environment.paths().expand(named.as_bstr())
    } else {
        Some(PathBuf::from(OsStr::from_bytes(named)))
    };
    let Some(base) = base else {
        return Ok(None);
    };
    for suffix in SUFFIXES {
        let mut entrance = environment.cwd.join(&base).into_os_string();
        entrance.push(suffix);
        let entrance = PathBuf::from(entrance);
        if let Some(named) = read_gitfile(&entrance) {
            let named = named.ok();
            let git_dir = match named {
                Some(named) if is_git_directory(&named, environment)? => Some(named),
                _ => None,
            };
            return Ok(git_dir.map(|git_dir| ServedRepository { entrance, git_dir }));
        }
        if is_git_directory(&entrance, environment)? {
            let git_dir = entrance.clone();
            return Ok(Some(ServedRepository { entrance, git_dir }));
        }
    }
    Ok(None)
}

/// The path without trailing slashes. The root keeps its slash.
fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/');
    &path[..end.map_or(path.len().min(1), |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::without_slashes;

    #[test]
    fn slashes_at_the_end_do_not_count() {
        for (path, expected) in [("a//", "a"), ("/a/b", "/a/b"), ("//", "/"), ("", "")] {
            assert_eq!(without_slashes(path.as_bytes()), expected.as_bytes());
        }
    }
}
