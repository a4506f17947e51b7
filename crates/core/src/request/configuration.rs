//! Values of git-sluice's own keys in the configuration of a repository.

use std::{os::unix::ffi::OsStrExt, path::PathBuf, time::Duration};

use bstr::{BStr, ByteSlice};

use sluice_base::error::{Error, Result, format_bytes};
use sluice_cli::duration;
use sluice_git::{
    config::value::{integer, missing_value},
    environment::Environment,
    repository::Repository,
};

/// All keys of git-sluice.
pub const KEYS: [&str; 20] = [
    "sluice.allowLfs",
    "sluice.allowSubmodules",
    "sluice.cache",
    "sluice.cacheAge",
    "sluice.cacheAlways",
    "sluice.cacheFinish",
    "sluice.cacheJobs",
    "sluice.cacheSize",
    "sluice.cacheWait",
    "sluice.exportAsSubmodule",
    "sluice.gzipCompat",
    "sluice.lfs",
    "sluice.lfsStore",
    "sluice.log",
    "sluice.maxEntries",
    "sluice.maxSize",
    "sluice.maxTime",
    "sluice.stable",
    "sluice.submoduleMap",
    "sluice.submodules",
];

/// The configuration of a repository, as git-sluice reads its own keys.
#[derive(Clone, Copy)]
pub(super) struct Config<'r> {
    pub(super) repository: &'r Repository,
    pub(super) environment: &'r Environment,
}

/// Whether `repository` promises bytes that never change (`sluice.stable`).
/// A bad value ends no run of somebody who asked git.
pub fn is_stable(repository: &Repository, environment: &Environment) -> Result<bool> {
    const KEY: &str = "sluice.stable";
    if environment.is_for_git() {
        return Ok(repository.config.is_true(KEY));
    }
    Ok(repository.config.boolean(KEY)?.unwrap_or(false))
}

/// The absolute `path` that the variable or the key `name` has, or an empty one, which switches off. A relative path would be
/// another place in each directory.
pub(super) fn absolute(name: &str, path: PathBuf) -> Result<PathBuf> {
    if path.is_absolute() || path.as_os_str().is_empty() {
        return Ok(path);
    }
    let values = [path.as_os_str().as_bytes(), name.as_bytes()];
    let refused = format_bytes("bad value '{}' for '{}'", &values);
    Err(Error::fatal(refused).caused_by("not an absolute path"))
}

impl Config<'_> {
    /// The absolute path that `key` has, which may be empty.
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>> {
        let paths = self.environment.paths();
        let path = paths.path(&self.repository.config, key, &self.repository.directory)?;
        path.map(|path| absolute(key, path)).transpose()
    }

    pub(super) fn value(&self, key: &str) -> Result<Option<&BStr>> {
        match self.repository.config.value(key) {
            Some(None) => Err(missing_value(key)),
            value => Ok(value.flatten()),
        }
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>> {
        let value = self.value(key)?;
        let Some(value) = value else {
            return Ok(None);
        };
        let number = u64::try_from(integer(key, value)?);
        number.map(Some).map_err(|_| {
            let values = [value.as_bytes(), key.as_bytes()];
            let refused = format_bytes("bad numeric config value '{}' for '{}'", &values);
            Error::fatal(refused).caused_by("the number is negative")
        })
    }

    pub(super) fn truth(&self, key: &str) -> Result<bool> {
        Ok(self.repository.config.boolean(key)?.unwrap_or(false))
    }

    /// The time that is `given`, or else that of `key`.
    pub(super) fn duration(&self, given: Option<Duration>, key: &str) -> Result<Option<Duration>> {
        if given.is_some() {
            return Ok(given);
        }
        let Some(value) = self.value(key)? else {
            return Ok(None);
        };
        let parsed = duration(&value.to_str_lossy());
        parsed.map(Some).map_err(|why| {
            let template = "bad config value '{}' for '{}'";
            Error::fatal(format_bytes(template, &[value, key.as_bytes()])).caused_by(why)
        })
    }
}
