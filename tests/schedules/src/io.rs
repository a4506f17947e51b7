//! Writing to a pipe that another thread empties.

use std::{fs::File, io};

use crate::sync::thread;

/// Calls `write` until there was room.
pub(crate) fn retry_would_block(
    file: &File,
    mut write: impl FnMut(&File) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match write(file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
            outcome => return outcome,
        }
    }
}
