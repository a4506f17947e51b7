//! The client of this process: how much of the archive it has, and where the same bytes can be read again.
//!
//! A request for the cache alone has no client: the bytes of a file then count as sent, and no others can be.
//!
//! A client that has received a part of an archive goes on with another production only after that part was compared.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    sync::Arc,
    time::Instant,
};

use super::{entry::DATA, request::Failure};
use sluice_base::io::retry_would_block;

/// Bytes that are compared, or copied where the kernel does not send, at once.
const PIECE: usize = 256 << 10;

/// Why a client gets no more bytes from a file.
#[derive(Debug)]
pub(super) enum Stop {
    /// The client cannot be written to.
    Client(io::Error),
    /// The file cannot be read as far as its header says.
    Damaged,
    /// The file differs from the part that the client has.
    Differs,
    /// The time of the request is over.
    Late,
}

impl Stop {
    pub(super) fn into_failure<E>(self) -> Failure<E> {
        match self {
            Self::Client(error) => Failure::Client(error),
            Self::Damaged | Self::Differs => Failure::Differs,
            Self::Late => Failure::Late,
        }
    }

    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Client(error) => error,
            Self::Damaged => io::Error::other("a file of the cache is damaged"),
            Self::Differs => differs(),
            Self::Late => io::ErrorKind::TimedOut.into(),
        }
    }
}

fn differs() -> io::Error {
    io::Error::other("the archive differs from the part that was sent")
}

/// The client, and the part of the archive that it has.
pub(super) struct Client<'a> {
    /// `None` where nobody takes the archive.
    output: Option<&'a File>,
    sent: u64,
    /// The file that holds the bytes that were sent, unless nothing was.
    reference_file: Option<Arc<File>>,
    /// When the time of the request is over.
    pub(super) end: Option<Instant>,
}

impl<'a> Client<'a> {
    pub(super) fn new(output: Option<&'a File>, end: Option<Instant>) -> Self {
        Self {
            output,
            sent: 0,
            reference_file: None,
            end,
        }
    }

    /// Fails once the time of the request is over.
    pub(super) fn check_time(&self) -> Result<(), Stop> {
        let is_late = self.end.is_some_and(|end| Instant::now() >= end);
        (!is_late).then_some(()).ok_or(Stop::Late)
    }

    /// Whether anybody takes the archive.
    pub(super) fn exists(&self) -> bool {
        self.output.is_some()
    }

    /// The file that was sent last, or would have been sent to a client.
    pub(super) fn into_file(self) -> Option<Arc<File>> {
        self.reference_file
    }

    /// Bytes of the archive that the client has.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends the bytes of `file` that the client lacks, up to the byte `until` of the archive. What the client has
    /// already is compared, if it came from another file.
    pub(super) fn catch_up(&mut self, file: &Arc<File>, until: u64) -> Result<(), Stop> {
        let is_known = |reference_file: &Arc<File>| Arc::ptr_eq(reference_file, file);
        if !self.reference_file.as_ref().is_some_and(is_known) {
            self.compare(file, until.min(self.sent))?;
            if until < self.sent {
                return Ok(());
            }
            self.reference_file = Some(Arc::clone(file));
        }
        while self.sent < until {
            self.send(file, until)?;
        }
        Ok(())
    }

    /// Compares the first `len` bytes of `file` with those that were sent.
    fn compare(&self, file: &File, len: u64) -> Result<(), Stop> {
        let Some(reference_file) = &self.reference_file else {
            return Ok(());
        };
        let (mut ours, mut theirs) = (vec![0; PIECE], vec![0; PIECE]);
        let mut at = 0;
        while at < len {
            let count = piece(len - at);
            let (ours, theirs) = (&mut ours[..count], &mut theirs[..count]);
            let read = |file: &File, bytes| file.read_exact_at(bytes, DATA + at);
            read(reference_file, ours)
                .and(read(file, theirs))
                .map_err(|_| Stop::Damaged)?;
            if ours != theirs {
                return Err(Stop::Differs);
            }
            at += count as u64;
        }
        Ok(())
    }

    /// Sends some bytes of `file`, at least one.
    fn send(&mut self, file: &File, until: u64) -> Result<(), Stop> {
        let Some(output) = self.output else {
            self.sent = until;
            return Ok(());
        };
        let mut at = DATA + self.sent;
        let count = usize::try_from(until - self.sent).unwrap_or(usize::MAX);
        let sent = retry_would_block(output, |output| send_file(output, file, &mut at, count));
        match sent {
            Ok(0) => Err(Stop::Damaged),
            Ok(count) => {
                self.sent += count as u64;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Stop::Client(error)),
            // The kernel does not send to every kind of file, nor does it say which of both files failed.
            Err(_) => self.copy(file, piece(until - self.sent)),
        }
    }

    /// Copies up to `count` bytes of `file`.
    fn copy(&mut self, file: &File, count: usize) -> Result<(), Stop> {
        let mut bytes = vec![0; count];
        file.read_exact_at(&mut bytes, DATA + self.sent)
            .map_err(|_| Stop::Damaged)?;
        self.write(&bytes).map_err(Stop::Client)
    }

    /// Writes all of `bytes`, which no file may hold.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let output = self.output.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = retry_would_block(output, |mut output| output.write(rest))?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.sent += count as u64;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Takes an archive from its first byte on, for this client alone.
    pub(super) fn rest(&mut self) -> Resume<'_, 'a> {
        self.rest_from(0)
    }

    /// Takes an archive from the byte `taken` on; the bytes before were compared already.
    pub(super) fn rest_from(&mut self, taken: u64) -> Resume<'_, 'a> {
        Resume {
            client: self,
            taken,
            differs: false,
        }
    }
}

/// Takes an archive, and sends the bytes that the client lacks. The other bytes are compared.
pub(super) struct Resume<'c, 'a> {
    client: &'c mut Client<'a>,
    taken: u64,
    differs: bool,
}

impl Resume<'_, '_> {
    /// Bytes of the archive so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether anybody takes the archive.
    pub(super) fn has_client(&self) -> bool {
        self.client.exists()
    }

    /// Whether the archive differs from the part that the client had.
    pub(super) fn differs(&self) -> bool {
        self.differs
    }

    fn compare(&self, bytes: &[u8]) -> bool {
        let mut known = vec![0; bytes.len()];
        let reference_file = self.client.reference_file.as_ref();
        reference_file.is_some_and(|reference_file| {
            let read = reference_file.read_exact_at(&mut known, DATA + self.taken);
            read.is_ok() && known == bytes
        })
    }
}

impl Write for Resume<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let known = self.client.sent.saturating_sub(self.taken);
        if known == 0 {
            let written = self.client.write(bytes);
            // A part may have been written before a failure.
            self.taken = self.client.sent;
            return written.map(|()| bytes.len());
        }
        let bytes = &bytes[..bytes.len().min(piece(known))];
        if !self.compare(bytes) {
            self.differs = true;
            return Err(differs());
        }
        self.taken += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends up to `count` bytes of `file` from `at` on, within the kernel.
#[cfg(target_os = "linux")]
fn send_file(output: &File, file: &File, at: &mut u64, count: usize) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(output, file, Some(at), count)?)
}

/// Other kernels send to sockets only, so bytes are copied.
#[cfg(not(target_os = "linux"))]
fn send_file(_output: &File, _file: &File, _at: &mut u64, _count: usize) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `len` bytes, or as many as are handled at once.
fn piece(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX).min(PIECE)
}
