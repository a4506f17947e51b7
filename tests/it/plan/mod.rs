//! The entries of an archive: what changed.

pub(crate) mod delta;
