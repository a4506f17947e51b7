//! Directories without a repository: an archive is applied to one, and published archives keep many of them current.
//!
//! The crate knows archives as bytes with a manifest of their own, and must not know git.

pub mod channels;
pub mod apply;
pub mod bucket;
