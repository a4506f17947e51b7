//! The archive: its bytes, its formats, its limits, and damage.

pub(crate) mod add_directory;
pub(crate) mod circles;
pub(crate) mod copies;
pub(crate) mod cold;
pub(crate) mod errors;
pub(crate) mod faults;
pub(crate) mod formats;
pub(crate) mod golden;
pub(crate) mod hostile;
pub(crate) mod limits;
mod matrix;
pub(crate) mod memory;
pub(crate) mod oracle;
pub(crate) mod positions;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod readers;
pub(crate) mod relative;
pub(crate) mod scale;
pub(crate) mod seekable;
pub(crate) mod sparse;
pub(crate) mod stable;
pub(crate) mod threads;
