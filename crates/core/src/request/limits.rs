//! Limits that a host sets on every archive.

use std::time::Instant;

use super::configuration::Config;
use sluice_base::error::{Error, Result};
use sluice_git::{environment::Environment, repository::Repository};

/// The key of the longest time that a request may take.
const MAX_TIME: &str = "sluice.maxTime";
const MAX_SIZE: &str = "sluice.maxSize";
const MAX_ENTRIES: &str = "sluice.maxEntries";

/// The most that an archive may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// When the time of the request is over.
    pub(crate) end: Option<Instant>,
    /// Bytes before any compression.
    bytes: Option<u64>,
    entries: Option<u64>,
}

impl Limits {
    /// The limits in the configuration. The time begins now. A bad limit ends no run of somebody who asked git.
    pub(super) fn read(repository: &Repository, environment: &Environment) -> Result<Self> {
        let begun = Instant::now();
        let config = Config {
            repository,
            environment,
        };
        let read = || {
            Ok(Self {
                end: config
                    .duration(None, MAX_TIME)?
                    .and_then(|time| begun.checked_add(time)),
                bytes: config.number(MAX_SIZE)?,
                entries: config.number(MAX_ENTRIES)?,
            })
        };
        match read() {
            Err(_) if environment.is_for_git() => Ok(Self::default()),
            limits => limits,
        }
    }

    /// Whether the plan of an archive may be over a limit.
    pub(crate) fn concern_plan(&self) -> bool {
        self.bytes.is_some() || self.entries.is_some()
    }

    /// Refuses an archive that has so many `bytes` and `entries` at this moment.
    pub(crate) fn refuse(&self, bytes: u64, entries: u64) -> Result<()> {
        let is_over = |limit: Option<u64>, amount| limit.is_some_and(|limit| amount > limit);
        let (what, key) = if self.end.is_some_and(|end| Instant::now() >= end) {
            ("takes longer", MAX_TIME)
        } else if is_over(self.bytes, bytes) {
            ("is larger", MAX_SIZE)
        } else if is_over(self.entries, entries) {
            ("has more entries", MAX_ENTRIES)
        } else {
            return Ok(());
        };
        Err(over(what, key))
    }

    /// The failure of a request whose time is over.
    pub(crate) fn late() -> Error {
        over("takes longer", MAX_TIME)
    }
}

fn over(what: &str, key: &str) -> Error {
    Error::over_limit(format!("the archive {what} than {key} allows"))
}
