//! Directories that are brought up to date without a repository.

pub(crate) mod apply;
pub(crate) mod fleet;
