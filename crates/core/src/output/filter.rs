//! A command between the archive and its destination (git-archive(1), `tar.<format>.command`).
//!
//! The command writes to the destination directly, which saves a copy. A failure of the command is a
//! failure of the run.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    process::Child,
};

use bstr::{BStr, BString, ByteSlice};

use sluice_base::error::{Error, Result, format_bytes, strerror};
use sluice_git::command::{CommandContext, death};

/// A running command that receives the archive.
pub struct CommandFilter {
    command: BString,
    child: Child,
    /// Open until the archive is complete.
    input: Option<File>,
}

impl CommandFilter {
    /// Start `command`, which writes to `output`.
    pub fn start(command: &BStr, output: &File, context: &CommandContext) -> Result<Self> {
        let started = context.start(command, || Ok(output.try_clone()?.into()));
        let mut child = started.map_err(|error| {
            let why = strerror(&error);
            let failed = Error::fatal(format_bytes(
                "unable to start '{}' filter: {}",
                &[command, why.as_bytes()],
            ));
            match error.kind() {
                io::ErrorKind::PermissionDenied => failed.after(format_bytes(
                    "fatal: cannot exec '{}': {}",
                    &[command, why.as_bytes()],
                )),
                _ => failed,
            }
        })?;
        Ok(Self {
            command: command.to_owned(),
            input: child.stdin.take().map(OwnedFd::from).map(File::from),
            child,
        })
    }

    /// The file that feeds the command.
    pub fn file(&self) -> Option<&File> {
        self.input.as_ref()
    }

    /// Close the input and wait for the end of the command.
    pub fn finish(mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait().ok();
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        let command = self.command.as_bstr();
        let failed = Error::fatal(format_bytes("'{}' filter reported error", &[command]));
        Err(match status.and_then(|status| death(command, status)) {
            Some(line) => failed.after(line),
            None => failed,
        })
    }
}

impl Drop for CommandFilter {
    /// The command must not write after the run, however the run ended.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

impl Write for CommandFilter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
