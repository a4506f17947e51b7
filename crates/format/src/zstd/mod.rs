//! Zstandard, which git lacks, in the zstd project's seekable format.
//!
//! The input is cut into frames of [`FRAME`] bytes, each compressed on its own, so that one frame can be read without
//! the others. The seek table follows the last frame. Readers that do not look for it skip it. A frame
//! depends on its bytes and on the level alone, so the output is the same at every number of threads.

mod frame;
mod parameters;
mod seek_table;
mod stream;

pub use parameters::{FRAME, Level};
pub use stream::Zstd;
