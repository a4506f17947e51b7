//! What all parts of git-sluice share: errors, bytes, threads, the pipeline that orders them, and the line of progress.
//!
//! Nothing here knows git, archives or options, and nothing here imports another part.

pub mod pipeline;
pub mod threads;
pub mod buffer;
pub mod io;
pub mod read_ahead;
pub mod working_directory;
pub mod local_time;
pub mod error;
pub mod name;
pub mod progress;
pub mod sync;
#[doc(hidden)]
pub mod temporary;

/// Writes a time to JSON, in seconds with microseconds. Digits beyond would be noise.
pub fn serialize_seconds<S: serde::Serializer>(
    time: &std::time::Duration,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_micros() as f64 / 1e6)
}
