//! A pipe into a stream, for what writes to files alone: commands, and the cache.

use std::{
    convert::identity,
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    thread::{self, JoinHandle},
};

use sluice_base::io::each_piece;

/// Bytes that are passed on at once.
const PIECE: usize = 64 << 10;

/// The pipe, and the thread that passes on what comes through.
pub struct Relay {
    /// The end that takes bytes, until all are written.
    input: Option<File>,
    copier: Option<JoinHandle<io::Result<()>>>,
}

impl Relay {
    /// A pipe into `stream`.
    pub(super) fn start(stream: Box<dyn Write + Send>) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let copier = thread::Builder::new().spawn(move || pass_on(reader, stream))?;
        Ok(Self {
            input: Some(File::from(OwnedFd::from(writer))),
            copier: Some(copier),
        })
    }

    pub(super) fn file(&self) -> Option<&File> {
        self.input.as_ref()
    }

    /// Wait until the stream has everything.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.input = None;
        match self.copier.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(copied)) => copied,
            Some(Err(_)) => Err(io::Error::other("a thread panicked")),
        }
    }
}

impl Drop for Relay {
    /// Nothing must follow the end of the run, however the run ended.
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn pass_on(reader: impl io::Read, mut stream: Box<dyn Write + Send>) -> io::Result<()> {
    let write = |piece: &[u8]| stream.write_all(piece);
    each_piece(reader, &mut vec![0; PIECE], identity, write)?;
    stream.flush()
}
