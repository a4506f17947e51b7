//! Paths in the configuration: `~`, `~user` and `%(prefix)` (git-config(1), "pathname"; `interpolate_path` of git's path.c).

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use bstr::{BStr, ByteSlice};
use gix_config_value::path::interpolate::home_for_user;

use crate::{
    base::error::{Error, Result, format_bytes},
    git::program::{self, GitLocation},
};

use super::{Config, value::missing_value};

/// What stands for the place where git is installed.
const PREFIX: &[u8] = b"%(prefix)/";
/// What stands in front of a path that may be missing (git 2.52).
const OPTIONAL: &[u8] = b":(optional)";

/// What the beginnings of paths stand for.
#[derive(Clone, Copy)]
pub struct PathContext<'a> {
    /// `HOME`
    pub home: Option<&'a OsStr>,
    /// The git that knows where it is installed.
    pub git: &'a GitLocation,
}

impl PathContext<'_> {
    /// The path that `path` means. `None` if there is no such home.
    pub fn expand(&self, path: &BStr) -> Option<PathBuf> {
        if path.starts_with(PREFIX) {
            return program::expanded_path(self.git, path);
        }
        let Some(named) = path.strip_prefix(b"~") else {
            return Some(PathBuf::from(OsStr::from_bytes(path)));
        };
        let (user, rest) = named.split_at(named.find_byte(b'/').unwrap_or(named.len()));
        let mut home = match user {
            b"" => self.home?.to_owned(),
            user => home_for_user(user.to_str().ok()?)?.into_os_string(),
        };
        home.push(OsStr::from_bytes(rest));
        Some(home.into())
    }

    /// The path in `key`. `None` if the key is not set, or if its file is missing and may be. Fails if there is no such home.
    pub fn path(&self, config: &Config, key: &str, directory: &Path) -> Result<Option<PathBuf>> {
        let value = match config.value(key) {
            None => return Ok(None),
            Some(None) => return Err(missing_value(key)),
            Some(Some(value)) => value,
        };
        let (value, is_optional) = match value.strip_prefix(OPTIONAL) {
            Some(value) => (value.as_bstr(), true),
            None => (value, false),
        };
        let path = self.expand(value).ok_or_else(|| {
            Error::fatal(format_bytes("failed to expand user dir in: '{}'", &[value]))
        })?;
        let is_missing = || is_optional && directory.join(&path).symlink_metadata().is_err();
        Ok((!is_missing()).then_some(path))
    }
}

/// The path without links. As in git, the last part of it need not exist. `None` for a path in a directory that is missing, and
/// for an empty one.
pub fn real_path(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let name = path
        .file_name()
        .filter(|_| path.symlink_metadata().is_err())?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    Some(parent.canonicalize().ok()?.join(name))
}

/// The file `name` of git in the user's directory for configurations.
pub fn user_file(
    home: Option<&OsStr>,
    xdg_config_home: Option<&OsStr>,
    name: &str,
) -> Option<PathBuf> {
    let (base, middle) = match xdg_config_home.filter(|it| !it.is_empty()) {
        Some(base) => (base, "/git/"),
        None => (home?, "/.config/git/"),
    };
    let path = [base.as_bytes(), middle.as_bytes(), name.as_bytes()].concat();
    Some(OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        path::{Path, PathBuf},
    };

    use super::{PathContext, real_path, user_file};
    use crate::git::program::GitLocation;

    #[test]
    fn homes_are_those_of_the_caller() {
        let git = GitLocation::default();
        let expand = |home: Option<&str>, path: &str| {
            let home = home.map(OsStr::new);
            PathContext { home, git: &git }.expand(path.into())
        };
        assert_eq!(expand(Some("/h"), "~/x"), Some("/h/x".into()));
        assert_eq!(expand(Some(""), "~/x"), Some("/x".into()));
        assert_eq!(expand(None, "~/x"), None);
        assert_eq!(expand(None, "a~"), Some("a~".into()));
        assert_eq!(expand(Some("/h"), "~no.such.user/x"), None);
    }

    #[test]
    fn the_directory_of_the_user() {
        let file = |home: Option<&str>, xdg: Option<&str>| {
            user_file(home.map(OsStr::new), xdg.map(OsStr::new), "config")
        };
        assert_eq!(file(Some("/h"), Some("/x")), Some("/x/git/config".into()));
        assert_eq!(
            file(Some("/h"), Some("")),
            Some("/h/.config/git/config".into())
        );
        assert_eq!(file(None, None), None);
    }

    #[test]
    fn only_the_last_part_may_be_missing() {
        assert_eq!(
            real_path(Path::new("/no.such")),
            Some(PathBuf::from("/no.such"))
        );
        assert_eq!(real_path(Path::new("/no.such/x")), None);
        assert_eq!(real_path(Path::new("")), None);
    }
}
