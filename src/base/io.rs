//! Writing to descriptors that other processes share.

use std::{fs::File, io};

use rustix::event::{PollFd, PollFlags, poll};

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
