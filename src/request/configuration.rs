//! Values of git-sluice's own keys in the configuration of a repository.

use std::{path::PathBuf, time::Duration};

use gix::bstr::{BString, ByteSlice};

use crate::{
    base::error::{Error, Result, format_bytes},
    cli::duration,
    git::repository::settings::{integer, missing_value, truth},
};

/// The configuration of a repository.
pub(super) struct Config<'r>(pub(super) &'r gix::Repository);

impl Config<'_> {
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>> {
        let path = self.0.config_snapshot().trusted_path(key);
        path.map_err(|error| {
            Error::fatal(format!("bad config variable '{key}'")).caused_by(error.to_string())
        })
    }

    pub(super) fn value(&self, key: &str) -> Result<Option<BString>> {
        match self.0.config_snapshot().plumbing().string_implicit(key) {
            Some(None) => Err(missing_value(key)),
            value => Ok(value.flatten()),
        }
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>> {
        let value = self.value(key)?;
        let number = value.map(|value| integer(key, value.as_bstr()));
        Ok(number
            .transpose()?
            .map(|number| number.max(0).cast_unsigned()))
    }

    pub(super) fn truth(&self, key: &str) -> Result<bool> {
        match self.0.config_snapshot().plumbing().string_implicit(key) {
            None => Ok(false),
            // A key without a value.
            Some(None) => Ok(true),
            Some(Some(value)) => truth(key, value.as_bstr()),
        }
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
            Error::fatal(format_bytes(template, &[&value, key.as_bytes()])).caused_by(why)
        })
    }
}
