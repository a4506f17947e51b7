//! Formats and compression.

pub(crate) mod deflate;
