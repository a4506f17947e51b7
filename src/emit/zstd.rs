//! Zstandard, which git lacks. The bytes are the same at every number of threads.
//!
//! A multithreaded encoder cuts its input into jobs whose size depends on the level alone. So the encoder
//! always runs multithreaded.

use std::io::{self, Write};

use zstd::stream::write::Encoder;

/// A compression level from 1 to 19. Higher levels would need more memory than a reader may provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(i32);

impl Level {
    /// The default of the encoder.
    pub const DEFAULT: Self = Self(zstd::DEFAULT_COMPRESSION_LEVEL);

    /// The level `level`, if it exists.
    pub fn new(level: u32) -> Option<Self> {
        (1..=19).contains(&level).then_some(Self(level as i32))
    }
}

/// Compresses all bytes written to it.
pub struct Zstd<W: Write>(Encoder<'static, W>);

impl<W: Write> Zstd<W> {
    /// Compress to `inner` with `threads` threads, with a checksum at the end as zstd(1) writes it.
    pub fn new(inner: W, level: Level, threads: usize) -> io::Result<Self> {
        let mut encoder = Encoder::new(inner, level.0)?;
        encoder.include_checksum(true)?;
        encoder.multithread(threads.max(1) as u32)?;
        Ok(Self(encoder))
    }

    /// End the stream.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish().map(drop)
    }
}

impl<W: Write> Write for Zstd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
