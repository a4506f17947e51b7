//! The ground that every other folder stands on: errors, bytes, threads, and the pipeline that orders them.
//!
//! Nothing here knows git, archives or options, and nothing here imports another folder.

pub mod pipeline;
pub mod threads;
pub mod buffer;
pub mod io;
pub mod working_directory;
pub mod error;
#[cfg(test)]
pub(crate) mod temporary;
