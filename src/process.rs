//! What a command in a process of its own runs with: the streams of the process, and the repository of its environment.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal, Read, Seek, Write},
    os::fd::AsFd,
};

use git_sluice::commands::Runtime;
use signal_hook::consts::SIGPIPE;
use sluice_base::error::{Error, Result};
use sluice_core::output::{Destination, Unfinished};
use sluice_git::{environment::Environment, program, repository::Repository};

use crate::signals;

/// Pipes hold this much if the system allows: fewer turns between us and the reader.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// The process, with its environment.
pub(super) struct ProcessRuntime<'a>(pub(super) &'a Environment);

impl Runtime for ProcessRuntime<'_> {
    fn repository(&self) -> Result<Result<Repository>> {
        Repository::open(self.0)
    }

    fn become_git(&self, words: Vec<OsString>) -> Error {
        program::become_archive(&words)
    }

    fn output(&self) -> Result<Destination> {
        Ok(Destination::Direct(standard_output()?))
    }

    fn band(&self, number: u8) -> Result<Destination> {
        let refused = format!("cannot write to band:{number}: bands are for a batch");
        Err(Error::fatal(refused))
    }

    fn input(&self) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(io::stdin()))
    }

    fn input_len(&self) -> Option<u64> {
        let mut input = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
        let metadata = input.metadata().ok()?;
        let position = input.stream_position().ok()?;
        metadata
            .is_file()
            .then(|| metadata.len().saturating_sub(position))
    }

    fn input_is_terminal(&self) -> bool {
        io::stdin().is_terminal()
    }

    fn watch(&self, file: Unfinished) -> Result<()> {
        signals::remove_on_death(file)
    }
}

/// Standard output without the line buffer of `std`, which would copy everything once more.
pub(super) fn standard_output() -> Result<File> {
    let stdout = io::stdout();
    let owned = stdout
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Error::write(&error))?;
    let file = File::from(owned);
    grow_pipe(&file);
    Ok(file)
}

/// Makes a pipe hold [`PIPE_BYTES`]. Refused for what is no pipe, and beyond the user's limit: then it stays as it is.
#[cfg(target_os = "linux")]
fn grow_pipe(file: &File) {
    let _ = rustix::pipe::fcntl_setpipe_size(file, PIPE_BYTES);
}

/// Other systems size pipes themselves.
#[cfg(not(target_os = "linux"))]
fn grow_pipe(_file: &File) {}

/// Standard error. Like git, the program does not outlive a reader of it.
pub(super) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write(bytes).inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                signals::die(SIGPIPE);
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
