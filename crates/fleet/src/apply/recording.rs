//! A copy of the bytes read from an archive, for a second read.
//!
//! The copy holds the raw input, compressed or not, so it is no larger than the input. A small copy is in
//! memory, a larger one in an unnamed temporary file.

use std::{
    cell::RefCell,
    io::{self, Read, Seek, Write},
    rc::Rc,
};

use tempfile::SpooledTempFile;

use sluice_base::error::{Error, Result, strerror};

/// The most bytes held in memory.
const MEMORY_LEN: usize = 1 << 20;

/// The bytes read so far through [`Self::of`]. Empty after [`Self::stop`].
#[derive(Clone)]
pub(super) struct Recording {
    kept: Rc<RefCell<Option<SpooledTempFile>>>,
}

impl Recording {
    pub(super) fn new() -> Self {
        let kept = SpooledTempFile::new(MEMORY_LEN);
        Self {
            kept: Rc::new(RefCell::new(Some(kept))),
        }
    }

    /// A reader of `input` that records the bytes it reads.
    pub(super) fn of<R: Read>(&self, input: R) -> impl Read + use<R> {
        Recorded {
            input,
            recording: self.clone(),
        }
    }

    /// End the recording and drop the copy.
    pub(super) fn stop(&self) {
        self.kept.take();
    }

    /// End the recording and read the copy from its beginning. Returns its length, too. The recording must not have been
    /// stopped.
    pub(super) fn replay(&self) -> Result<(impl Read + use<>, u64)> {
        let mut kept = self.kept.take().expect("it was not stopped");
        let len = kept.stream_position();
        let len = len.and_then(|len| kept.rewind().map(|()| len));
        let len = len.map_err(|error| Error::fatal("cannot read the archive").caused_by(error))?;
        Ok((kept, len))
    }
}

struct Recorded<R> {
    input: R,
    recording: Recording,
}

impl<R: Read> Read for Recorded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(into)?;
        if let Some(kept) = &mut *self.recording.kept.borrow_mut() {
            kept.write_all(&into[..len]).map_err(|error| {
                let why = format!("cannot keep it in a temporary file: {}", strerror(&error));
                io::Error::new(error.kind(), why)
            })?;
        }
        Ok(len)
    }
}
