//! The log that gets a line about a run: the environment, then the configuration.

use std::path::PathBuf;

use jiff::Timestamp;

use super::configuration::Config;
use crate::output::report::{RunLog, RunOrigin};
use sluice_base::error::Result;
use sluice_git::{environment::Environment, repository::Repository};

/// The log of a run, for the client of a server if it `is_served`. `None` if no log is wanted.
/// For somebody who asked git, here or on another machine, a bad setting ends no run: nothing is logged.
pub fn run_log(
    environment: &Environment,
    repository: &Result<Repository>,
    is_served: bool,
) -> Result<Option<RunLog>> {
    let repository = repository.as_ref().ok();
    let file = match log_file(environment, repository) {
        Err(_) if environment.is_for_git() => None,
        file => file?,
    };
    let Some(file) = file else {
        return Ok(None);
    };
    let git_dir = repository.and_then(|it| it.git_dir.canonicalize().ok());
    let origin = RunOrigin {
        time: Timestamp::now(),
        pid: std::process::id(),
        repository: git_dir.map(|path| path.to_string_lossy().into_owned()),
        is_served,
    };
    Ok(Some(RunLog { origin, file }))
}

/// The file of the log. An empty name means none.
pub fn log_file(
    environment: &Environment,
    repository: Option<&Repository>,
) -> Result<Option<PathBuf>> {
    let named = match (&environment.sluice.log, repository) {
        (Some(file), _) => Some(file.clone()),
        (None, Some(repository)) => Config {
            repository,
            environment,
        }
        .path("sluice.log")?,
        (None, None) => None,
    };
    let named = named.filter(|file| !file.as_os_str().is_empty());
    Ok(named.map(|file| environment.cwd.join(file)))
}
