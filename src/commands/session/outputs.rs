//! The streams of an answer.

use std::{
    cell::{RefCell, RefMut},
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
};

use super::Failure;
use sluice_base::{
    error::{Error, Result},
    threads::Lock,
};
use sluice_cli::CliError;
use sluice_core::output::Destination;

type Stream = Box<dyn Write + Send>;

/// Where an answer goes: the archive, its reports, and messages to the user. A stream that fails ends the request.
pub struct Outputs {
    archive: SharedStream,
    bands: BTreeMap<u8, SharedStream>,
    messages: RefCell<Stream>,
}

/// A stream that a request may open twice: for early output and for the archive.
#[derive(Clone)]
struct SharedStream(Arc<Lock<Stream>>);

impl Outputs {
    /// The archive, or what else is asked for, goes to `archive`. Messages are dropped.
    pub fn new(archive: impl Write + Send + 'static) -> Self {
        Self {
            archive: SharedStream::new(archive),
            bands: BTreeMap::new(),
            messages: RefCell::new(Box::new(io::sink())),
        }
    }

    /// A report of `band:<number>` goes to `stream`. The numbers are 4 to 9.
    pub fn band(mut self, number: u8, stream: impl Write + Send + 'static) -> Self {
        self.bands.insert(number, SharedStream::new(stream));
        self
    }

    /// Warnings and the lines of `-v` go to `stream`.
    pub fn with_messages(self, stream: impl Write + Send + 'static) -> Self {
        Self {
            messages: RefCell::new(Box::new(stream)),
            ..self
        }
    }

    pub(super) fn open_archive(&self) -> Destination {
        Destination::Stream(Box::new(self.archive.clone()))
    }

    pub(super) fn open_band(&self, number: u8) -> Result<Destination> {
        let refused = || Error::fatal(format!("cannot write to band:{number}: it has no reader"));
        let stream = self.bands.get(&number).ok_or_else(refused)?;
        Ok(Destination::Stream(Box::new(stream.clone())))
    }

    pub(super) fn messages(&self) -> RefMut<'_, Stream> {
        self.messages.borrow_mut()
    }

    /// Answers a question about the program.
    pub(super) fn tell(&self, answer: &str) -> Result<(), Failure> {
        let written = self.open_archive().write_all(answer.as_bytes());
        written.map_err(|error| CliError::from(Error::write(&error)).into())
    }
}

impl SharedStream {
    fn new(stream: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Lock::new(Box::new(stream))))
    }
}

impl Write for SharedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().flush()
    }
}
