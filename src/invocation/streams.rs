//! What an invocation is given by its caller. Must not touch the process's own streams.

use std::io::{Read, Write};

use crate::{
    error::Result,
    output::{Destination, Unfinished},
    report::Bands,
};

/// The streams of an invocation.
pub struct Streams<'a> {
    /// Opens the destination of what is asked for, where the words name no file.
    pub output: &'a dyn Fn() -> Result<Destination>,
    /// Opens streams beside that of the archive.
    pub bands: Bands<'a>,
    /// Takes messages to the user.
    pub messages: &'a mut (dyn Write + Send + 'static),
    /// Opens the standard input.
    pub input: &'a dyn Fn() -> Result<Box<dyn Read>>,
    /// Tells whether somebody may have sent an archive on the standard input: it is a pipe or a file.
    pub has_input: &'a dyn Fn() -> bool,
    /// Whether progress is shown unless the words say otherwise.
    pub shows_progress: bool,
    /// The most memory that the words may ask for, in bytes.
    pub max_memory: u64,
    /// Has a file removed if a signal ends the process.
    pub watch: &'a dyn Fn(Unfinished) -> Result<()>,
}
