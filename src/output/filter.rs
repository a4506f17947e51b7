//! A command between the archive and its destination (git-archive(1), `tar.<format>.command`).
//!
//! It writes to the destination itself, so that nothing is copied once more; its failure is ours.

use std::{
    fs::File,
    io::{self, Write},
    process::{Child, ChildStdin},
};

use gix::bstr::{BStr, BString, ByteSlice};

use crate::{
    error::{Error, Result, filled, strerror},
    process::command::{CommandContext, death},
};

/// A running command that is fed.
pub struct Filter {
    command: BString,
    child: Child,
    /// Open as long as there is more to come.
    input: Option<ChildStdin>,
}

impl Filter {
    /// Start `command`, which writes to `output`.
    pub fn start(command: &BStr, output: &File, context: &CommandContext) -> Result<Self> {
        let started = context.start(command, || Ok(output.try_clone()?.into()));
        let mut child = started.map_err(|error| {
            let why = strerror(&error);
            let failed = Error::fatal(filled(
                "unable to start '{}' filter: {}",
                &[command, why.as_bytes()],
            ));
            match error.kind() {
                io::ErrorKind::PermissionDenied => failed.after(filled(
                    "fatal: cannot exec '{}': {}",
                    &[command, why.as_bytes()],
                )),
                _ => failed,
            }
        })?;
        Ok(Self {
            command: command.to_owned(),
            input: child.stdin.take(),
            child,
        })
    }

    /// Nothing more comes: wait for its end.
    pub fn finish(mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait().ok();
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        let command = self.command.as_bstr();
        let failed = Error::fatal(filled("'{}' filter reported error", &[command]));
        Err(match status.and_then(|status| death(command, status)) {
            Some(line) => failed.after(line),
            None => failed,
        })
    }
}

impl Drop for Filter {
    /// What it wrote is not to change any more when the run is over, however it ended.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

impl Write for Filter {
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
