//! A command between the archive and its destination (git-archive(1), `tar.<format>.command`).
//!
//! It writes to the destination itself, so that nothing is copied once more; its failure is ours.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::{Error, Result, strerror};

/// What only a shell understands.
const SHELL_CHARACTERS: &[u8] = b"|&;<>()$`\\\"' \t\n*?[#~=%";

/// A running command that is fed.
pub struct Filter {
    command: BString,
    child: Child,
    /// Open as long as there is more to come.
    input: Option<ChildStdin>,
}

impl Filter {
    /// Start `command`, which writes to `output`, in `directory`; `below` is where the user is, from
    /// there.
    pub fn start(command: &BStr, output: File, directory: &Path, below: &BStr) -> Result<Self> {
        let failed = |error: &io::Error| {
            let why = strerror(error);
            Error::fatal(format!("unable to start '{command}' filter: {why}"))
        };
        let mut process = shell(command);
        process
            .current_dir(directory)
            .env("GIT_PREFIX", OsStr::from_bytes(below))
            .stdin(Stdio::piped())
            .stdout(output);
        let mut child = process.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => failed(&error).after(format!(
                "fatal: cannot exec '{command}': {}",
                strerror(&error)
            )),
            _ => failed(&error),
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
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => {
                let command = &self.command;
                Err(Error::fatal(format!("'{command}' filter reported error")))
            }
        }
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

/// As git runs what the configuration says: by a shell if it takes one, else directly.
fn shell(command: &BStr) -> Command {
    let word = OsStr::from_bytes(command);
    if command.find_byteset(SHELL_CHARACTERS).is_none() {
        return Command::new(word);
    }
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(word);
    shell
}
