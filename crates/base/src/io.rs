//! Reads and writes that go on after a signal, descriptors that other processes share, and messages to the user.

use std::{
    fs::File,
    io::{self, IoSlice, Read, Write},
};

use rustix::event::{PollFd, PollFlags, poll};

use super::error::push_line;

/// Calls `write` until it no longer fails with `WouldBlock` or `Interrupted`, and waits for room in between.
///
/// Another process can make a shared descriptor non-blocking; git waits in that case, too.
pub fn retry_would_block(
    file: &File,
    mut write: impl FnMut(&File) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match uninterrupted(|| write(file)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::new(file, PollFlags::OUT)];
                uninterrupted(|| Ok(poll(&mut wanted, None)?))?;
            }
            outcome => return outcome,
        }
    }
}

/// Calls `call` again as long as a signal interrupts it.
pub fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Passes all that is left in `reader` to `take`, by way of `piece`. `failed` makes the error of a failed read.
pub fn each_piece<E>(
    mut reader: impl Read,
    piece: &mut [u8],
    failed: impl Fn(io::Error) -> E,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        match uninterrupted(|| reader.read(piece)).map_err(&failed)? {
            0 => return Ok(()),
            len => take(&piece[..len])?,
        }
    }
}

/// Writes all of `slices` to `output`.
pub fn write_all_vectored(
    output: &mut (impl Write + ?Sized),
    mut slices: &mut [IoSlice<'_>],
) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match uninterrupted(|| output.write_vectored(slices))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => IoSlice::advance_slices(&mut slices, written),
        }
    }
    Ok(())
}

/// Print a line of a message, as [`push_line`] writes it. Ignores a failed write, as git does.
pub fn print_line(messages: &mut dyn Write, label: &str, message: &[u8]) {
    let mut line = Vec::new();
    push_line(&mut line, label, message);
    let _ = messages.write_all(&line);
}
