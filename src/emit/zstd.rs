//! Zstandard, which git lacks: the same bytes at every number of threads.
//!
//! The encoder cuts its input into jobs whose size depends on the level alone, as long as it runs
//! beside us at all; so it always does.

use std::io::{self, Write};

use zstd::stream::write::Encoder;

/// How hard to compress, from 1 to 19; more takes more memory than a reader may want to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(i32);

impl Level {
    /// What the encoder takes without being told.
    pub const DEFAULT: Self = Self(zstd::DEFAULT_COMPRESSION_LEVEL);

    /// Nothing if there is no such `level`.
    pub fn new(level: u32) -> Option<Self> {
        (1..=19).contains(&level).then_some(Self(level as i32))
    }
}

/// Compresses what is written to it.
pub struct Zstd<W: Write>(Encoder<'static, W>);

impl<W: Write> Zstd<W> {
    /// Compress to `inner` with as many `threads`, with a checksum at the end as zstd(1) has it.
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
