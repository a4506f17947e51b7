//! Whether and where an archive is shared: the command line, then the environment, then the configuration.

use std::{path::PathBuf, time::Duration};

use gix::bstr::{BString, ByteSlice};

use crate::{
    base::error::{Error, Result, format_bytes},
    cache::Settings,
    cli::{Args, Sharing, duration},
    git::repository::{
        environment::Environment,
        settings::{integer, missing_value, truth},
    },
};

/// Bytes of the directory where nothing is said.
const DEFAULT_SIZE: u64 = 1 << 30;
/// Time that an archive is kept where nothing is said.
const DEFAULT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings of the cache; `None` if no cache is wanted.
pub fn settings(
    args: &Args,
    environment: &Environment,
    repository: &gix::Repository,
) -> Result<Option<Settings>> {
    let Sharing {
        cache,
        no_cache,
        cache_always,
        cache_size,
        cache_age,
        cache_jobs,
        cache_wait,
    } = &args.sharing;
    if *no_cache {
        return Ok(None);
    }
    let config = Config(repository);
    let given = cache.as_ref().map(PathBuf::from);
    let directory = match given.or_else(|| environment.cache.clone()) {
        Some(directory) => Some(directory),
        None => config.path("sluice.cache")?,
    };
    let Some(directory) = directory.filter(|directory| !directory.as_os_str().is_empty()) else {
        return Ok(None);
    };
    let size = match cache_size {
        Some(size) => Some(*size),
        None => config.number("sluice.cacheSize")?,
    };
    let jobs = match cache_jobs {
        Some(jobs) => Some((*jobs).into()),
        None => config.number("sluice.cacheJobs")?,
    };
    Ok(Some(Settings {
        directory: environment.cwd.join(directory),
        size: size.unwrap_or(DEFAULT_SIZE),
        age: config
            .duration(*cache_age, "sluice.cacheAge")?
            .unwrap_or(DEFAULT_AGE),
        always: *cache_always || config.truth("sluice.cacheAlways")?,
        // No jobs at all would be no archive at all.
        jobs: jobs
            .filter(|&jobs| jobs > 0)
            .map(|jobs| usize::try_from(jobs).unwrap_or(usize::MAX)),
        wait: config.duration(*cache_wait, "sluice.cacheWait")?,
    }))
}

/// The configuration of a repository.
struct Config<'r>(&'r gix::Repository);

impl Config<'_> {
    fn path(&self, key: &str) -> Result<Option<PathBuf>> {
        let path = self.0.config_snapshot().trusted_path(key);
        path.map_err(|error| {
            Error::fatal(format!("bad config variable '{key}'")).caused_by(error.to_string())
        })
    }

    fn value(&self, key: &str) -> Result<Option<BString>> {
        match self.0.config_snapshot().plumbing().string_implicit(key) {
            Some(None) => Err(missing_value(key)),
            value => Ok(value.flatten()),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>> {
        let value = self.value(key)?;
        let number = value.map(|value| integer(key, value.as_bstr()));
        Ok(number
            .transpose()?
            .map(|number| number.max(0).cast_unsigned()))
    }

    fn truth(&self, key: &str) -> Result<bool> {
        match self.0.config_snapshot().plumbing().string_implicit(key) {
            None => Ok(false),
            // A key without a value.
            Some(None) => Ok(true),
            Some(Some(value)) => truth(key, value.as_bstr()),
        }
    }

    /// The time that is `given`, or else that of `key`.
    fn duration(&self, given: Option<Duration>, key: &str) -> Result<Option<Duration>> {
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
