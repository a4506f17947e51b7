//! Shared basics that every other folder uses: errors, bytes, threads, and the pipeline that orders them.
//!
//! Nothing here knows git, archives or options, and nothing here imports another folder.

pub mod pipeline;
pub mod threads;
pub mod buffer;
pub mod io;
pub mod read_ahead;
pub mod working_directory;
pub mod local_time;
pub mod error;
pub(crate) mod sync;
#[cfg(test)]
pub(crate) mod temporary;

/// Writes a time to JSON, in seconds with microseconds. Digits beyond would be noise.
pub fn serialize_seconds<S: serde::Serializer>(
    time: &std::time::Duration,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_micros() as f64 / 1e6)
}
