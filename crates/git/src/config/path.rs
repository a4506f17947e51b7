//! Paths in the configuration: `~`, `~user` and `%(prefix)` (git-config(1), "pathname"; `interpolate_path` of git's path.c).

use std::{
    ffi::{OsStr, OsString},
    io::ErrorKind,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use bstr::{BStr, ByteSlice};
use gix_config_value::path::interpolate::home_for_user;

use crate::program::{self, GitLocation};
use sluice_base::error::{Error, Result, format_bytes, strerror};

use super::{Config, value::missing_value};

/// What stands for the place where git is installed.
const PREFIX: &[u8] = b"%(prefix)/";
/// What stands in front of a path that may be missing (git 2.52).
const OPTIONAL: &[u8] = b":(optional)";
/// The most links on the way to a path (git's `MAXSYMLINKS`, which it compares after it counts).
const MAX_LINKS: usize = 33;

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
        match config.value(key) {
            None => Ok(None),
            Some(None) => Err(missing_value(key)),
            Some(Some(value)) => self.path_of_value(value, directory),
        }
    }

    /// The path that the `value` of a key means, for a git that runs in `directory` (`git_config_pathname` of git's config.c).
    /// `None` if its file is missing and may be. Fails if there is no such home.
    pub fn path_of_value(&self, value: &BStr, directory: &Path) -> Result<Option<PathBuf>> {
        let (value, is_optional) = match value.strip_prefix(OPTIONAL) {
            Some(value) => (value.as_bstr(), true),
            None => (value, false),
        };
        let path = self.expand(value).ok_or_else(|| {
            Error::fatal(format_bytes("failed to expand user dir in: '{}'", &[value]))
        })?;
        Ok((!is_optional || exists(&path, directory)?).then_some(path))
    }
}

/// Whether `path`, as seen from `directory`, leads to a file. As in git, only a missing file does not exist: any other failure
/// is an error.
fn exists(path: &Path, directory: &Path) -> Result<bool> {
    if path.as_os_str().is_empty() {
        return Ok(false);
    }
    match directory.join(path).metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => {
            let why = strerror(&error);
            let values = [path.as_os_str().as_bytes(), why.as_bytes()];
            Err(Error::fatal(format_bytes("could not stat {}: {}", &values)))
        }
    }
}

/// The path without links, dots and repeated slashes (`strbuf_realpath` of git's abspath.c). The last part of it need not
/// exist, unless a slash follows. `None` for a path in a directory that is missing, and for an empty one.
pub fn real_path(path: &Path) -> Option<PathBuf> {
    let mut rest = path.as_os_str().as_bytes().to_owned();
    let mut real = match rest.first()? {
        b'/' => PathBuf::from("/"),
        _ => Path::new(".").canonicalize().ok()?,
    };
    let mut links = 0;
    while let Some(start) = rest.find_not_byteset(b"/") {
        let end = rest[start..].find_byte(b'/');
        let end = end.map_or(rest.len(), |len| start + len);
        let (part, after) = (&rest[start..end], &rest[end..]);
        match part {
            b"." => {}
            b".." => {
                real.pop();
            }
            part => {
                real.push(OsStr::from_bytes(part));
                match real.symlink_metadata() {
                    Err(error) if error.kind() == ErrorKind::NotFound && after.is_empty() => {}
                    Err(_) => return None,
                    Ok(found) if found.is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return None;
                        }
                        let target = real.read_link().ok()?;
                        real.pop();
                        if target.is_absolute() {
                            real = PathBuf::from("/");
                        }
                        rest = [target.as_os_str().as_bytes(), after].concat();
                        continue;
                    }
                    Ok(_) => {}
                }
            }
        }
        rest.drain(..end);
    }
    Some(real)
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
    use crate::program::GitLocation;

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
        assert_eq!(real_path(Path::new("/no.such/")), None);
        assert_eq!(
            real_path(Path::new("//./../no.such")),
            Some("/no.such".into())
        );
        assert_eq!(real_path(Path::new("")), None);
    }
}
