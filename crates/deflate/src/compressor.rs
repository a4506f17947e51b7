//! A stream in a frame, as it arrives.

use std::io::{self, Write};

use super::{
    Dialect, Level,
    frame::{Checksum, Frame},
    parallel::Parallel,
    piece::Shape,
    serial::Serial,
    stored::StoredEncoder,
};

/// How much is gathered before it is parsed on one thread.
const FEED: usize = 1 << 18;

/// How a [`Compressor`] works: its level, the bytes that it makes, and its threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompressorSettings {
    level: Level,
    dialect: Dialect,
    threads: usize,
    piece: Option<usize>,
}

/// Deflates what is written to it into one gzip member or zlib stream, and writes that on. The output is complete
/// when the compressor is [finished](Compressor::finish), and visibly truncated if it never is.
pub struct Compressor<W> {
    inner: W,
    core: Core,
    /// Bytes to be written on.
    out: Vec<u8>,
    length: u64,
}

enum Core {
    Stored(StoredEncoder, Checksum),
    Serial(Box<SerialStream>),
    Parallel(Box<Parallel>),
}

/// A stream on one thread. The text begins a window before the next position.
struct SerialStream {
    serial: Serial,
    text: Vec<u8>,
    origin: u64,
    checksum: Checksum,
}

/// The length of pieces where memory allows: the longer they are, the less is indexed twice.
const ROOMY_PIECE: usize = 1 << 20;

impl CompressorSettings {
    /// Settings for one level and one dialect, on the calling thread.
    pub fn new(level: Level, dialect: Dialect) -> Self {
        Self {
            level,
            dialect,
            ..Self::default()
        }
    }

    /// Sets the number of threads that compress. With one or none, no thread is started.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets about how many bytes of input a thread takes at a time, instead of the fastest length. The output does not
    /// depend on it.
    #[must_use]
    pub fn piece(self, bytes: usize) -> Self {
        let piece = Some(bytes);
        Self { piece, ..self }
    }

    /// Limits the threads, and the length of their pieces, so that all of them hold about `memory` bytes.
    #[must_use]
    pub fn within(self, memory: usize) -> Self {
        let held = |piece| Shape::new(self.level, piece).held();
        let roomy = self.piece.or(Some(ROOMY_PIECE));
        let piece = if held(roomy) * self.threads <= memory && held(roomy) > held(None) {
            roomy
        } else {
            self.piece
        };
        Self {
            threads: self.threads.min(memory / held(piece)).max(1),
            piece,
            ..self
        }
    }
}

impl<W: Write> Compressor<W> {
    /// Begins a gzip member (RFC 1952) that is written to `inner`.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use sluice_deflate::{Compressor, CompressorSettings};
    ///
    /// let mut gzip = Compressor::gzip(CompressorSettings::default(), Vec::new());
    /// gzip.write_all(b"hello")?;
    /// assert!(gzip.finish()?.starts_with(b"\x1f\x8b"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn gzip(settings: CompressorSettings, inner: W) -> Self {
        Self::new(settings, Frame::Gzip, inner)
    }

    /// Begins a zlib stream (RFC 1950) that is written to `inner`, as in git's loose objects and packs.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use sluice_deflate::{Compressor, CompressorSettings};
    ///
    /// let mut zlib = Compressor::zlib(CompressorSettings::default(), Vec::new());
    /// zlib.write_all(b"hello")?;
    /// assert_eq!(zlib.finish()?, b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn zlib(settings: CompressorSettings, inner: W) -> Self {
        Self::new(settings, Frame::Zlib, inner)
    }

    fn new(settings: CompressorSettings, frame: Frame, inner: W) -> Self {
        Self {
            inner,
            out: frame.header(settings.level),
            core: Core::new(settings, frame),
            length: 0,
        }
    }

    /// The writer that the output goes to.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Writes the rest of the output and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        let checksum = self.core.finish(&mut self.out)?;
        self.out.extend(Frame::trailer(checksum, self.length));
        self.write_on()?;
        Ok(self.inner)
    }

    fn write_on(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.core.write(bytes, &mut self.out)?;
        self.length += bytes.len() as u64;
        if self.out.len() > FEED / 8 {
            self.write_on()?;
        }
        Ok(bytes.len())
    }

    /// Writes the bytes that are ready. A flush never changes what is compressed.
    fn flush(&mut self) -> io::Result<()> {
        self.write_on()?;
        self.inner.flush()
    }
}

impl Core {
    fn new(settings: CompressorSettings, frame: Frame) -> Self {
        let CompressorSettings {
            level,
            dialect,
            threads,
            piece,
        } = settings;
        if threads > 1
            && let Some(parallel) = Parallel::new(level, dialect, frame, threads, piece)
        {
            return Self::Parallel(Box::new(parallel));
        }
        match Serial::new(level, dialect) {
            Some(serial) => Self::Serial(Box::new(SerialStream::new(serial, frame))),
            None => Self::Stored(StoredEncoder::default(), frame.checksum(&[])),
        }
    }

    fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Stored(stored, checksum) => {
                checksum.update(bytes);
                stored.write(bytes, out);
            }
            Self::Serial(stream) => {
                stream.write(bytes);
                out.extend(stream.serial.bits.drain());
            }
            Self::Parallel(parallel) => {
                parallel.write(bytes)?;
                out.extend(parallel.bits.drain());
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<Checksum> {
        match self {
            Self::Stored(stored, checksum) => {
                stored.finish(out);
                Ok(checksum.clone())
            }
            Self::Serial(stream) => {
                stream.serial.finish(&stream.text, stream.origin);
                out.extend(stream.serial.bits.drain());
                Ok(stream.checksum.clone())
            }
            Self::Parallel(parallel) => {
                let checksum = parallel.finish()?;
                out.extend(parallel.bits.drain());
                Ok(checksum)
            }
        }
    }
}

impl SerialStream {
    fn new(mut serial: Serial, frame: Frame) -> Self {
        serial.begin();
        Self {
            serial,
            text: Vec::new(),
            origin: 0,
            checksum: frame.checksum(&[]),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) {
        self.checksum.update(bytes);
        while !bytes.is_empty() {
            let full = self.serial.history() + FEED;
            let (now, later) = bytes.split_at(bytes.len().min(full - self.text.len()));
            self.text.extend_from_slice(now);
            bytes = later;
            if self.text.len() == full {
                self.serial.run(&self.text, self.origin);
                let spare = self.serial.spare();
                self.text.drain(..spare);
                self.serial.rebase(spare);
                self.origin += spare as u64;
            }
        }
    }
}
