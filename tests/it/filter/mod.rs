//! Filters.

pub(crate) mod filter_globs;
pub(crate) mod filters;
