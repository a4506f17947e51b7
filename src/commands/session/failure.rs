//! The end of a request that was not carried out.

use std::{error, fmt};

use bstr::BString;

use sluice_base::error::{Error, ExitKind};
use sluice_cli::CliError;

/// The failure of a request: what a process of its own would have left.
#[derive(Clone, Debug)]
pub struct Failure {
    status: u8,
    message: BString,
}

impl Failure {
    /// A panic is a failure of the request.
    pub(super) fn of_panic() -> Self {
        CliError::from(Error::fatal("internal error: the request failed")).into()
    }

    /// The exit status, as in the table of `docs/exit-status.md`.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// The lines for the user, each with its newline. Empty if the reader of the archive has left.
    pub fn message(&self) -> &[u8] {
        &self.message
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        let message = match &error {
            CliError::Answer(answer) => answer.clone().into_bytes(),
            CliError::Fatal(error) if error.kind() == ExitKind::BrokenPipe => Vec::new(),
            CliError::Fatal(error) if error.is_silent() => Vec::new(),
            CliError::Fatal(error) => error.lines(),
        };
        let status = error.exit_status();
        Self {
            status,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match String::from_utf8_lossy(&self.message).trim_end() {
            "" => write!(f, "exit status {}", self.status),
            message => f.write_str(message),
        }
    }
}

impl error::Error for Failure {}
