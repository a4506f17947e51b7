//! gzip with git's bytes, by zlib itself (RFC 1952): no name, no time, made on Unix, one stream.
//!
//! Where nothing is compressed, the bytes depend on how they come and go; so they are handed to zlib
//! in the blocks of git's tar writer, and taken from it into a buffer of git's size.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::deflate::Level;

/// What git's tar writer hands on at once.
const INPUT_LEN: usize = 10240;
/// What git's gzip writes at once.
const OUTPUT_LEN: usize = 16384;
/// zlib's largest window, as a power of two.
const WINDOW_BITS: u8 = 15;

/// Compresses what is written to it.
pub struct ZlibGzip<W> {
    inner: W,
    compress: Compress,
    input: Vec<u8>,
    output: Box<[u8; OUTPUT_LEN]>,
    filled: usize,
}

impl<W: Write> ZlibGzip<W> {
    /// Compress to `inner`.
    pub fn new(inner: W, level: Level) -> Self {
        let level = Compression::new(level.number().into());
        Self {
            inner,
            compress: Compress::new_gzip(level, WINDOW_BITS),
            input: Vec::with_capacity(INPUT_LEN),
            output: Box::new([0; OUTPUT_LEN]),
            filled: 0,
        }
    }

    /// End the stream.
    pub fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.input);
        self.block(&rest)?;
        while self.step(b"", FlushCompress::Finish)? != Status::StreamEnd {}
        self.inner.write_all(&self.output[..self.filled])
    }

    fn block(&mut self, mut block: &[u8]) -> io::Result<()> {
        while !block.is_empty() {
            let before = self.compress.total_in();
            self.step(block, FlushCompress::None)?;
            block = &block[(self.compress.total_in() - before) as usize..];
        }
        Ok(())
    }

    fn step(&mut self, input: &[u8], flush: FlushCompress) -> io::Result<Status> {
        let before = self.compress.total_out();
        let room = &mut self.output[self.filled..];
        let status = self.compress.compress(input, room, flush)?;
        self.filled += (self.compress.total_out() - before) as usize;
        if self.filled == OUTPUT_LEN {
            self.filled = 0;
            self.inner.write_all(&self.output[..])?;
        }
        Ok(status)
    }
}

impl<W: Write> Write for ZlibGzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let missing = INPUT_LEN - self.input.len();
        let taken = &bytes[..missing.min(bytes.len())];
        self.input.extend_from_slice(taken);
        if self.input.len() == INPUT_LEN {
            let block = std::mem::take(&mut self.input);
            self.block(&block)?;
            self.input = block;
            self.input.clear();
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
