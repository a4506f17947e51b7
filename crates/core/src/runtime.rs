//! What a command runs with. Its caller owns the process and the streams of the process.

use std::{ffi::OsString, io::Read};

use crate::output::{Destination, Unfinished};
use sluice_base::error::{Error, Result};
use sluice_git::repository::Repository;

/// The runtime of a command: a process, or a session that answers a request.
pub trait Runtime {
    /// Opens the repository of the environment. The outer error ends the command before any other check.
    fn repository(&self) -> Result<Result<Repository>>;

    /// Continues as `git archive` with `words`, for an archive of another machine. Returns only if that fails.
    fn become_git(&self, words: Vec<OsString>) -> Error;

    /// Opens the destination of the command's output, unless the words name a file.
    fn output(&self) -> Result<Destination>;

    /// Opens the band with this `number`, a stream in addition to that of the archive.
    fn band(&self, number: u8) -> Result<Destination>;

    /// Opens the standard input.
    fn input(&self) -> Result<Box<dyn Read + Send>>;

    /// The bytes of the standard input from where it stands, if it is a file.
    fn input_len(&self) -> Option<u64>;

    /// Tells whether the standard input is a terminal.
    fn input_is_terminal(&self) -> bool;

    /// Has a file removed if a signal ends the process.
    fn watch(&self, file: Unfinished) -> Result<()>;
}
