//! The destination of the archive, and reports about it.

pub(crate) mod destination;
pub(crate) mod log;
#[cfg(feature = "fleet")]
pub(crate) mod progress;
pub(crate) mod report;
