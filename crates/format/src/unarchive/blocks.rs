//! The bytes of a stream in pieces that can be kept without a copy, while the stream is read on.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

use sluice_base::io::uninterrupted;

/// The bytes that are read at once. Content up to this length comes in one piece.
pub(super) const READ_LEN: usize = 128 << 10;

pub(super) struct Blocks<R> {
    input: R,
    /// The bytes that come next, as far as they are in memory.
    ahead: Bytes,
    /// All buffers that were read into. A buffer is read into again when no thread holds a piece of its content. So there are
    /// no more of them than the users of the pieces need.
    buffers: Vec<Bytes>,
    /// The byte of the stream at which `ahead` begins.
    position: u64,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            ahead: Bytes::new(),
            buffers: Vec::new(),
            position: 0,
        }
    }

    /// The byte of the stream that comes next.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next bytes, which stay: at least `len`, at most [`READ_LEN`], unless the stream ends before.
    pub(super) fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        self.fill(len)?;
        Ok(&self.ahead)
    }

    /// The next `len` bytes, at most [`READ_LEN`]; fewer at the end of the stream.
    pub(super) fn take(&mut self, len: usize) -> io::Result<Bytes> {
        self.fill(len)?;
        let len = len.min(self.ahead.len());
        self.position += len as u64;
        Ok(self.ahead.split_to(len))
    }

    /// Copies some of the next bytes.
    pub(super) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.fill(1.min(out.len()))?;
        let len = out.len().min(self.ahead.len());
        out[..len].copy_from_slice(&self.take(len)?);
        Ok(len)
    }

    /// Reads to the end of the stream.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        self.ahead.clear();
        io::copy(&mut self.input, &mut io::sink()).map(drop)
    }

    fn fill(&mut self, len: usize) -> io::Result<()> {
        if self.ahead.len() >= len {
            return Ok(());
        }
        let mut buffer = self.buffer();
        let mut filled = self.ahead.len();
        buffer[..filled].copy_from_slice(&self.ahead);
        while filled < buffer.len() {
            match uninterrupted(|| self.input.read(&mut buffer[filled..]))? {
                0 => break,
                read => filled += read,
            }
        }
        let buffer = buffer.freeze();
        self.ahead = buffer.slice(..filled);
        self.buffers.push(buffer);
        Ok(())
    }

    /// A buffer of [`READ_LEN`] bytes whose content no thread holds: a used one, or else a new one.
    fn buffer(&mut self) -> BytesMut {
        let free = self.buffers.iter().rposition(Bytes::is_unique);
        let free = free.map(|free| self.buffers.swap_remove(free));
        free.and_then(|free| free.try_into_mut().ok())
            .unwrap_or_else(|| BytesMut::zeroed(READ_LEN))
    }
}
