//! Values of git-sluice's own keys in the configuration of a repository.

use std::{path::PathBuf, time::Duration};

use gix::bstr::{BStr, ByteSlice};

use crate::{
    base::error::{Error, Result, format_bytes},
    cli::duration,
    git::{
        config::value::{integer, missing_value},
        environment::Environment,
        repository::Repository,
    },
};

/// The configuration of a repository, as git-sluice reads its own keys.
#[derive(Clone, Copy)]
pub(super) struct Config<'r> {
    pub(super) repository: &'r Repository,
    pub(super) environment: &'r Environment,
}

impl Config<'_> {
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>> {
        let paths = self.environment.paths();
        paths.path(&self.repository.config, key, &self.repository.directory)
    }

    pub(super) fn value(&self, key: &str) -> Result<Option<&BStr>> {
        match self.repository.config.value(key) {
            Some(None) => Err(missing_value(key)),
            value => Ok(value.flatten()),
        }
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>> {
        let value = self.value(key)?;
        let number = value.map(|value| integer(key, value));
        Ok(number
            .transpose()?
            .map(|number| number.max(0).cast_unsigned()))
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
