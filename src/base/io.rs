//! Writing to descriptors that other processes share, and messages to the user.

use std::{
    fs::File,
    io::{self, Write},
};

use rustix::event::{PollFd, PollFlags, poll};

use super::error::push_line;

/// Calls `write` until it no longer fails with `WouldBlock`, and waits for room in between.
///
/// Another process can make a shared descriptor non-blocking; git waits in that case, too.
pub fn retry_would_block(
    file: &File,
    mut write: impl FnMut(&File) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match write(file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::new(file, PollFlags::OUT)];
                poll(&mut wanted, None)?;
            }
            outcome => return outcome,
        }
    }
}

/// Print a line of a message, as [`push_line`] writes it. Ignores a failed write, as git does.
pub fn print_line(messages: &mut dyn Write, label: &str, message: &[u8]) {
    let mut line = Vec::new();
    push_line(&mut line, label, message);
    let _ = messages.write_all(&line);
}
