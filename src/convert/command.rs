//! Commands from the configuration, started as git starts them.

use std::{
    ffi::OsStr,
    io,
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::{io::Errno, process::Signal};

use super::say;
use crate::{buffer::Buffer, error::strerror};

const SHELL: &str = "/bin/sh";
/// A command with one of these is for the shell.
const SHELL_CHARACTERS: &[u8] = b"|&;<>()$`\\\"' \t\n*?[#~=%";

/// Where commands run.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The top of the work tree, if it is not the current directory.
    pub directory: Option<PathBuf>,
    /// `GIT_PREFIX`: the current directory from there.
    pub prefix: BString,
}

impl Surroundings {
    /// Start `command` with pipes to its standard input and from its standard output; nothing, and a
    /// line in `log`, if it cannot be.
    pub(super) fn start(&self, command: &BStr, log: &mut Buffer) -> Option<Child> {
        let word = OsStr::from_bytes(command);
        let started = match command.find_byteset(SHELL_CHARACTERS) {
            // Its own text is the name under which the shell complains.
            Some(_) => self.spawn(Command::new(SHELL).args([OsStr::new("-c"), word, word])),
            None => match self.spawn(&mut Command::new(word)) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NOEXEC) => {
                    self.spawn(Command::new(SHELL).arg(word))
                }
                started => started,
            },
        };
        match started {
            Ok(child) => Some(child),
            Err(error) => {
                let why = strerror(&error);
                match error.kind() {
                    io::ErrorKind::NotFound => {
                        say(log, &format!("error: cannot run {command}: {why}"))
                    }
                    _ => say(log, &format!("fatal: cannot exec '{command}': {why}")),
                }
                None
            }
        }
    }

    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
            .env("GIT_PREFIX", OsStr::from_bytes(&self.prefix))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    }
}

/// The status of `command` as a shell has it. A death by signal is told, unless it was one that
/// people send, or by which pipes end.
pub(super) fn status(command: &BStr, status: ExitStatus, log: &mut Buffer) -> i32 {
    let Some(signal) = status.signal() else {
        return status.code().unwrap_or(-1);
    };
    let quiet = [Signal::INT, Signal::QUIT, Signal::PIPE];
    if !quiet.iter().any(|quiet| quiet.as_raw() == signal) {
        say(log, &format!("error: {command} died of signal {signal}"));
    }
    128 + signal
}
