//! The entries of an archive: what changed.

#[cfg(feature = "fleet")]
pub(crate) mod delta;
