//! Why there is no repository.
//!
//! git-archive(1) looks for a repository first, but needs none to list its formats or to refuse an option. So it passes over some
//! failures, and others end it at once.

use sluice_base::error::{Error, Result};

/// Why there is no repository.
pub(super) enum NoRepository {
    /// None was found, or none that may be used. git goes on until it needs one.
    NotFound(Error),
    /// Something is wrong, and git ends.
    Broken(Error),
}

impl NoRepository {
    /// The failure, with the error of a repository that was not found inside.
    pub(super) fn split<T>(self) -> Result<Result<T>> {
        match self {
            Self::NotFound(error) => Ok(Err(error)),
            Self::Broken(error) => Err(error),
        }
    }

    /// The same failure with another error.
    pub(super) fn map(self, change: impl FnOnce(Error) -> Error) -> Self {
        match self {
            Self::NotFound(error) => Self::NotFound(change(error)),
            Self::Broken(error) => Self::Broken(change(error)),
        }
    }
}

impl From<Error> for NoRepository {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}
