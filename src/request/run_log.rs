//! The log that gets a line about a run: the environment, then the configuration.

use std::{ffi::OsString, path::PathBuf};

use jiff::Timestamp;

use super::configuration::Config;
use crate::{
    base::error::Result,
    git::{environment::Environment, repository::Repository},
    output::report::{RunLog, RunOrigin, Trace2},
};

/// The log of a run with these `words`, for the client of a server if it `is_served`. `None` if no log is wanted.
pub fn run_log(
    environment: &Environment,
    repository: &Result<Repository>,
    is_served: bool,
    words: &[OsString],
) -> Option<RunLog> {
    let repository = repository.as_ref().ok();
    let file = log_file(environment, repository);
    let trace = environment.sluice.trace2.as_ref();
    let trace = trace.and_then(|(target, parent)| Trace2::new(target, parent.clone(), words));
    if file.is_none() && trace.is_none() {
        return None;
    }
    let git_dir = repository.and_then(|it| it.git_dir.canonicalize().ok());
    let origin = RunOrigin {
        time: Timestamp::now(),
        pid: std::process::id(),
        repository: git_dir.map(|path| path.to_string_lossy().into_owned()),
        is_served,
    };
    Some(RunLog {
        origin,
        file,
        trace,
    })
}

/// The file of the log. An empty name means none, and so does a name that cannot be understood: a log fails no run.
pub fn log_file(environment: &Environment, repository: Option<&Repository>) -> Option<PathBuf> {
    let configured = || {
        let config = Config {
            repository: repository?,
            environment,
        };
        config.path("sluice.log").ok()?
    };
    let named = environment.sluice.log.clone().or_else(configured);
    let named = named.filter(|file| !file.as_os_str().is_empty());
    named.map(|file| environment.cwd.join(file))
}
