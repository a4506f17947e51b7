//! The bounds of a cache, as the user sets them.

use std::{path::PathBuf, time::Duration};

/// A directory that may hold less is not used, in bytes, unless it holds nothing at all and only counts archives.
pub(super) const SMALLEST: u64 = 1 << 20;

/// Where archives are shared, and within which bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The directory. It is made if it is missing.
    pub directory: PathBuf,
    /// The most bytes that the directory may hold, archives in the making included; 0 if it stores no archive.
    pub size: u64,
    /// An archive that is not asked for during this time is removed.
    pub age: Duration,
    /// Whether an archive is kept from its first request on.
    pub always: bool,
    /// Whether an archive is finished and kept if its client leaves.
    pub finish: bool,
    /// The most archives that are produced at once.
    pub jobs: Option<usize>,
    /// The longest wait for a turn to produce.
    pub wait: Option<Duration>,
    /// Why these settings make no sense. Then nothing is shared.
    pub fault: Option<String>,
}

impl Settings {
    /// Settings with which nothing is shared, for this reason.
    pub fn unusable(reason: String) -> Self {
        Self {
            directory: PathBuf::new(),
            size: 0,
            age: Duration::ZERO,
            always: false,
            finish: false,
            jobs: None,
            wait: None,
            fault: Some(reason),
        }
    }
}
