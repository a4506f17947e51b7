//! Commands of the configuration, started as git starts them: by a shell if they need one, at the top of
//! the work tree, with a pipe to the standard input.

use std::{
    ffi::OsStr,
    io,
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

use super::program::GitLocation;
use bstr::{BStr, BString, ByteSlice};
use rustix::{io::Errno, process::Signal};
use sluice_base::error::format_bytes;

const SHELL: &str = "/bin/sh";
/// A command with one of these characters needs a shell.
const SHELL_CHARACTERS: &[u8] = b"|&;<>()$`\\\"' \t\n*?[#~=%";

/// The directory and the environment of a command.
#[derive(Clone, Debug, Default)]
pub struct CommandContext {
    /// The top of the work tree, if it is not the current directory.
    pub directory: Option<PathBuf>,
    /// `GIT_PREFIX`: the current directory relative to the top of the work tree.
    pub prefix: BString,
    /// The repository.
    pub location: GitLocation,
}

impl CommandContext {
    /// Start `command`, with a pipe to its standard input and the result of `output` as its standard
    /// output.
    pub fn start(
        &self,
        command: &BStr,
        output: impl Fn() -> io::Result<Stdio>,
    ) -> io::Result<Child> {
        let word = OsStr::from_bytes(command);
        if command.find_byteset(SHELL_CHARACTERS).is_some() {
            // The shell names the command's own text in its messages.
            let mut shell = Command::new(SHELL);
            return self.spawn(shell.args([OsStr::new("-c"), word, word]).stdout(output()?));
        }
        match self.spawn(Command::new(word).stdout(output()?)) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOEXEC) => {
                self.spawn(Command::new(SHELL).arg(word).stdout(output()?))
            }
            started => started,
        }
    }

    /// Whether the program `gzip` is GNU's, without options from the variable `GZIP`, of which it warns.
    pub fn has_gnu_gzip(&self) -> bool {
        let mut gzip = Command::new("gzip");
        self.location.set(&mut gzip);
        let answer = gzip.arg("--version").stdin(Stdio::null()).output();
        answer.is_ok_and(|answer| {
            let is_gnu = answer.stdout.starts_with(b"gzip ")
                && answer.stdout.contains_str("Free Software Foundation");
            is_gnu && answer.stderr.is_empty()
        })
    }

    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.location.set_as_git_does(command);
        if let Some(directory) = &self.directory {
            // From there, a relative path would lead elsewhere.
            let git_dir = self.location.named_git_dir().map(|it| ("GIT_DIR", it));
            command.envs(git_dir).current_dir(directory);
        }
        command
            .env("GIT_PREFIX", OsStr::from_bytes(&self.prefix))
            .stdin(Stdio::piped())
            .spawn()
    }
}

/// git's message about a `command` that a signal ended. `None` for the signals of users and of closed
/// pipes.
pub fn death(command: &BStr, status: ExitStatus) -> Option<BString> {
    let signal = status.signal()?;
    let quiet = [Signal::INT, Signal::QUIT, Signal::PIPE];
    let is_quiet = quiet.iter().any(|quiet| quiet.as_raw() == signal);
    let signal = signal.to_string();
    let values: [&[u8]; 2] = [command, signal.as_bytes()];
    (!is_quiet).then(|| format_bytes("error: {} died of signal {}", &values))
}
