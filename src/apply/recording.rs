//! A copy of what was read of an archive, so that it can be read a second time.
//!
//! The copy is kept as it came, compressed or not, and so takes no more than was sent: in memory while it
//! is small, then in an unnamed temporary file.

use std::{
    cell::RefCell,
    io::{self, Read, Seek, Write},
    rc::Rc,
};

use tempfile::SpooledTempFile;

use crate::error::{Error, Result, strerror};

/// What is kept in memory, in bytes.
const MEMORY_LEN: usize = 1 << 20;

/// What has been read so far through [`Self::of`]; nothing after [`Self::stop`].
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

    /// `input`, whose bytes are kept as they are read.
    pub(super) fn of<R: Read>(&self, input: R) -> impl Read {
        Recorded {
            input,
            recording: self.clone(),
        }
    }

    /// Keep nothing, and drop what was kept.
    pub(super) fn stop(&self) {
        self.kept.take();
    }

    /// What was kept, from its beginning. The recording ends here, and was not stopped before.
    pub(super) fn replay(&self) -> Result<impl Read + use<>> {
        let mut kept = self.kept.take().expect("it was not stopped");
        kept.rewind()
            .map_err(|error| Error::fatal("cannot read the archive").caused_by(error))?;
        Ok(kept)
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
                let why = strerror(&error);
                io::Error::other(format!("cannot keep it in a temporary file: {why}"))
            })?;
        }
        Ok(len)
    }
}
