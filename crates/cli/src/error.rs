//! Why there are no options: an answer, or a failure.

use sluice_base::error::{Error, ExitKind};

/// Why there are no options.
#[derive(Debug)]
pub enum CliError {
    /// The answer to a question about the program.
    Answer(String),
    /// A failure.
    Fatal(Error),
}

/// What a shell shows for a death by SIGPIPE.
const BROKEN_PIPE: u8 = 141;

impl CliError {
    /// The exit status of the process. A process that has lost its reader ends by the signal, before it has one.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Answer(_) => 0,
            Self::Fatal(error) if error.kind() == ExitKind::BrokenPipe => BROKEN_PIPE,
            Self::Fatal(error) => error.exit_status(),
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}
