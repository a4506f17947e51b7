//! Finds the repository that a client of a server names, as `git upload-archive` finds it.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use gix::{
    bstr::ByteSlice,
    config::path::interpolate::home_for_user,
    discover::{is_git, path::from_gitdir_file},
    sec::identity::is_path_owned_by_current_user,
};

use crate::{
    base::error::{Error, Result, format_bytes},
    git::program,
};

/// The suffixes that are tried after the path, in this order.
const SUFFIXES: [&str; 4] = ["/.git", "", ".git/.git", ".git"];

/// The git directory of the repository at `path`. The owner is checked, so that no client is served from a
/// repository that another user has prepared.
pub fn git_dir(path: &OsStr) -> Result<PathBuf> {
    let found = find(path);
    if let Some(found) = &found
        && found.is_ours()
    {
        return Ok(found.git_dir.clone());
    }
    // Only git knows `safe.directory` and the message of each refusal.
    match (found, program::check_served(path)) {
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
    fn is_ours(&self) -> bool {
        let ours = |path: &Path| is_path_owned_by_current_user(path).unwrap_or(false);
        ours(&self.entrance) && ours(&self.git_dir)
    }
}

fn find(path: &OsStr) -> Option<ServedRepository> {
    let base = home_expanded(without_slashes(path.as_bytes()))?;
    let entrance = SUFFIXES
        .iter()
        .map(|suffix| {
            let mut path = base.clone();
            path.push(suffix);
            PathBuf::from(path)
        })
        .find(|path| path.is_file() || is_git(path).is_ok())?;
    let git_dir = if entrance.is_file() {
        from_gitdir_file(&entrance)
            .ok()
            .filter(|dir| is_git(dir).is_ok())?
    } else {
        entrance.clone()
    };
    Some(ServedRepository { entrance, git_dir })
}

/// The path without trailing slashes. The root keeps its slash.
fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/');
    &path[..end.map_or(path.len().min(1), |last| last + 1)]
}

/// The path with a leading `~` or `~user` expanded.
fn home_expanded(path: &[u8]) -> Option<OsString> {
    let Some(named) = path.strip_prefix(b"~") else {
        return Some(OsString::from_vec(path.to_owned()));
    };
    let (user, rest) = named.split_at(named.find_byte(b'/').unwrap_or(named.len()));
    let mut home = match user {
        b"" => gix::path::env::home_dir()?,
        user => home_for_user(user.to_str().ok()?)?,
    }
    .into_os_string();
    home.push(OsStr::from_bytes(rest));
    Some(home)
}

#[cfg(test)]
mod tests {
    use super::{home_expanded, without_slashes};

    #[test]
    fn slashes_at_the_end_do_not_count() {
        for (path, expected) in [("a//", "a"), ("/a/b", "/a/b"), ("//", "/"), ("", "")] {
            assert_eq!(without_slashes(path.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn nobody_is_at_home() {
        assert_eq!(home_expanded(b"~no/such/user"), None);
        assert_eq!(home_expanded(b"a~b"), Some("a~b".into()));
    }
}
