//! What an invocation is given by its caller. Must not touch the process's own streams.

use std::io::{Read, Write};

use crate::{
    base::error::Result,
    cli::Ours,
    output::{
        Destination, Unfinished,
        report::{Bands, Screen},
    },
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
    /// The bytes of the standard input from where it stands, if it is a file.
    pub input_len: &'a dyn Fn() -> Option<u64>,
    /// Tells whether somebody may have sent an archive on the standard input: it is a pipe or a file.
    pub has_input: &'a dyn Fn() -> bool,
    /// Tells whether the standard input is a terminal.
    pub input_is_terminal: &'a dyn Fn() -> bool,
    /// The place that messages go to. On a terminal, progress is shown unless the words say otherwise.
    pub screen: Screen,
    /// The most memory that the words may ask for, in bytes.
    pub max_memory: u64,
    /// Has a file removed if a signal ends the process.
    pub watch: &'a dyn Fn(Unfinished) -> Result<()>,
}

impl Streams<'_> {
    /// Where progress is shown, if it is.
    pub(super) fn screen(&self, options: &Ours) -> Option<Screen> {
        let is_wanted = options.progress || (!options.no_progress && self.screen.is_terminal);
        is_wanted.then_some(self.screen)
    }
}
