//! A stream in a gzip member, as it arrives.

use std::io::{self, Write};

use crc32fast::Hasher;

use super::{
    Dialect, Level, parallel::Parallel, piece::Shape, serial::Serial, stored::StoredEncoder,
};

/// How much is gathered before it is parsed on one thread.
const FEED: usize = 1 << 18;

/// How a stream is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct GzipSettings {
    /// The level.
    pub level: Level,
    /// The program whose bytes are made.
    pub dialect: Dialect,
    /// The number of threads that compress. With one or none, no thread is started.
    pub threads: usize,
    /// About how many bytes of input a piece has; by default the fastest length. The output does not depend on it.
    pub piece: Option<usize>,
}

/// Deflates what is written to it into one gzip member, and writes that on. The member is complete
/// when it is [finished](Gzip::finish), and visibly broken if it never is.
pub struct Gzip<W> {
    inner: W,
    core: Core,
    /// Bytes to be written on.
    out: Vec<u8>,
    length: u64,
}

enum Core {
    Stored(StoredEncoder, Hasher),
    Serial(Box<SerialStream>),
    Parallel(Box<Parallel>),
}

/// A stream on one thread. The text begins a window before the next position.
struct SerialStream {
    serial: Serial,
    text: Vec<u8>,
    origin: u64,
    checksum: Hasher,
}

/// The length of pieces where memory allows: the longer they are, the less is indexed twice.
const ROOMY_PIECE: usize = 1 << 20;

impl GzipSettings {
    /// Limits the threads, and the length of their pieces, so that all of them hold about `memory` bytes.
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

impl<W: Write> Gzip<W> {
    /// Begins a member that is written to `inner`.
    pub fn new(settings: GzipSettings, inner: W) -> Self {
        let level = settings.level;
        let flags = match level.number() {
            9 => 2,
            0 | 1 => 4,
            _ => 0,
        };
        Self {
            inner,
            core: Core::new(settings),
            out: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, flags, 3],
            length: 0,
        }
    }

    /// The writer that the member goes to.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Writes the rest of the member and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        let checksum = self.core.finish(&mut self.out)?;
        let checksum = checksum.finalize();
        self.out.extend_from_slice(&checksum.to_le_bytes());
        // Modulo 2^32 by definition.
        self.out
            .extend_from_slice(&(self.length as u32).to_le_bytes());
        self.write_on()?;
        Ok(self.inner)
    }

    fn write_on(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

impl<W: Write> Write for Gzip<W> {
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
    fn new(settings: GzipSettings) -> Self {
        let GzipSettings {
            level,
            dialect,
            threads,
            piece,
        } = settings;
        if threads > 1
            && let Some(parallel) = Parallel::new(level, dialect, threads, piece)
        {
            return Self::Parallel(Box::new(parallel));
        }
        match Serial::new(level, dialect) {
            Some(serial) => Self::Serial(Box::new(SerialStream::new(serial))),
            None => Self::Stored(StoredEncoder::default(), Hasher::new()),
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

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<Hasher> {
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
    fn new(mut serial: Serial) -> Self {
        serial.begin();
        Self {
            serial,
            text: Vec::new(),
            origin: 0,
            checksum: Hasher::new(),
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
