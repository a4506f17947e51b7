//! Where plan, decode and emit meet: a request becomes an archive.
//!
//! Every entry is decoded straight behind its own header, so that a job's output is written as it
//! is. What is larger than a job may hold is left to the writer, which streams it in its turn: see
//! `large`.

mod archiver;
mod entry;
mod extra;
mod large;
mod run;
mod share;
mod worker;
mod writer;

pub use archiver::{Archiver, Piece, Scratch};
pub use run::{Outputs, RunStats, run};
pub use share::share;
pub use writer::Writer;
