//! Failures of the directory, which never fail a request.

use std::io;

use sluice_base::error::strerror;

/// Something is wrong with the directory or with a file in it. The request goes on without the cache.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CacheError(pub(super) String);

impl CacheError {
    pub(super) fn new(what: &str, error: &io::Error) -> Self {
        Self(format!("{what}: {}", strerror(error)))
    }
}
