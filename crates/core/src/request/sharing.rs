//! Whether and where an archive is shared: the command line, then the environment, then the configuration.

use std::{path::PathBuf, time::Duration};

use super::configuration::{Config, absolute};
use crate::cache::Settings;
use sluice_base::error::{Error, Result};
use sluice_cli::{Args, Sharing};
use sluice_git::{environment::Environment, repository::Repository};

/// Bytes of the directory where nothing is said.
const DEFAULT_SIZE: u64 = 1 << 30;
/// Time that an archive is kept where nothing is said.
const DEFAULT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings of the cache; `None` if no cache is wanted. For somebody who asked git, here or on another machine, a bad setting
/// ends no run: nothing is shared.
pub fn settings(
    args: &Args,
    environment: &Environment,
    repository: &Repository,
) -> Result<Option<Settings>> {
    match configured(args, environment, repository) {
        Err(error) if environment.is_for_git() => {
            let reason = error.without_label().to_string();
            Ok(Some(Settings::unusable(reason)))
        }
        settings => settings,
    }
}

fn configured(
    args: &Args,
    environment: &Environment,
    repository: &Repository,
) -> Result<Option<Settings>> {
    let Sharing {
        cache,
        no_cache,
        cache_always,
        cache_finish,
        cache_size,
        cache_age,
        cache_jobs,
        cache_wait,
    } = &args.sharing;
    if *no_cache {
        return Ok(None);
    }
    let config = Config {
        repository,
        environment,
    };
    let directory = match (cache, &environment.sluice.cache) {
        (Some(given), _) => Some(PathBuf::from(given)),
        (None, Some(directory)) => Some(absolute("GIT_SLUICE_CACHE", directory.clone())?),
        (None, None) => config.path("sluice.cache")?,
    };
    let Some(directory) = directory else {
        return refuse_alone(&args.sharing).map(|()| None);
    };
    if directory.as_os_str().is_empty() {
        return Ok(None);
    }
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
        finish: *cache_finish || config.truth("sluice.cacheFinish")?,
        // No jobs at all would be no archive at all.
        jobs: jobs
            .filter(|&jobs| jobs > 0)
            .map(|jobs| usize::try_from(jobs).unwrap_or(usize::MAX)),
        wait: config.duration(*cache_wait, "sluice.cacheWait")?,
        fault: None,
    }))
}

/// Refuses options about a directory that nothing names: neither an option nor a variable nor the configuration.
fn refuse_alone(sharing: &Sharing) -> Result<()> {
    let given = [
        ("always", sharing.cache_always),
        ("finish", sharing.cache_finish),
        ("size", sharing.cache_size.is_some()),
        ("age", sharing.cache_age.is_some()),
        ("jobs", sharing.cache_jobs.is_some()),
        ("wait", sharing.cache_wait.is_some()),
    ];
    let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let refused = format!("the option '--cache-{name}' requires '--cache'");
    Err(Error::usage(refused)
        .hinted("--cache=<dir> names the directory; --no-cache switches these options off"))
}
