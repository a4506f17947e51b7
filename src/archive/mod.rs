//! Turns a request into an archive: joins plan, decode and emit.
//!
//! Every entry is decoded straight behind its own header, so the output of a job is written without a copy.
//! A file that is too large for a job is left to the writer, which streams it in archive order: see
//! `large`.

mod archiver;
mod entry;
mod extra;
mod fetch;
mod large;
mod measure;
mod prepare;
mod range;
mod run;
mod share;
mod store;
mod survey;
mod worker;
mod writer;

pub use archiver::{Archiver, Piece, Scratch};
pub use measure::{Known, Measurement, archive_length, measure, tar_length};
pub use range::send_range;
pub use run::{ArchiveOutputs, RunStats, run};
pub use share::share;
pub use survey::survey;
pub use writer::Writer;
