//! Errors of archives that cannot be read, or not to their end.

use std::io;

use sluice_base::error::{Error, strerror};

/// The error of a failed read: that of the system, or damage that a decompressor found.
pub fn unreadable(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::fatal("cannot read the archive").caused_by(strerror(&error)),
        None if error.kind() == io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
        None => damaged(error.to_string()),
    }
}

/// The error of an archive that is damaged or cut.
pub(super) fn damaged(cause: impl Into<String>) -> Error {
    Error::damaged("the archive is damaged").caused_by(cause.into())
}
