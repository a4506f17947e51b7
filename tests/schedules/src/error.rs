//! The errors of the pipeline, and the texts of those of the system.

use std::fmt;

/// What went wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Error(pub &'static str);

/// A result of a step of the pipeline.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with this text.
    pub fn fatal(text: &'static str) -> Self {
        Self(text)
    }

    /// An error about one entry.
    pub fn entry(text: &'static str) -> Self {
        Self(text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A failure of the system, in words.
pub(crate) fn strerror(error: &std::io::Error) -> String {
    error.to_string()
}
