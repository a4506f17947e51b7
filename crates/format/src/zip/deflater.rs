//! Raw deflate streams (RFC 1951) of zip members, with zlib's bytes. A member in memory is compressed by
//! the own encoder, a longer member piece by piece by zlib itself.

use flate2::{Compress, Compression, FlushCompress, Status};
use sluice_deflate::{Dialect, Encoder, Level};

use sluice_base::buffer::Buffer;

/// Bytes of room for output, added at once.
const ROOM: usize = 64 << 10;

/// Produces one stream after the other.
#[derive(Default)]
pub(super) struct Deflater {
    encoder: Option<Encoder>,
    zlib: Option<Compress>,
}

impl Deflater {
    /// Replace the content of `out` by the stream of `input`.
    pub(super) fn whole(&mut self, level: Level, input: &[u8], out: &mut Vec<u8>) {
        out.clear();
        self.encoder
            .get_or_insert_with(|| Encoder::new(level, Dialect::Zlib))
            .compress(input, out);
    }

    /// Begin a stream that zlib produces piece by piece, for input that is too long to hold.
    pub(super) fn begin(&mut self, level: Level) -> DeflateStream<'_> {
        let compress = self
            .zlib
            .get_or_insert_with(|| Compress::new(Compression::new(level.number().into()), false));
        compress.reset();
        DeflateStream(compress)
    }
}

/// A stream in progress.
pub(super) struct DeflateStream<'a>(&'a mut Compress);

impl DeflateStream<'_> {
    /// Compress `input` and append the output to `out`.
    pub(super) fn feed(&mut self, input: &[u8], out: &mut Buffer) {
        let end = self.0.total_in() + input.len() as u64;
        while self.0.total_in() < end {
            let rest = &input[input.len() - (end - self.0.total_in()) as usize..];
            put(self.0, rest, FlushCompress::None, out);
        }
    }

    /// Append the end of the stream to `out`.
    pub(super) fn finish(self, out: &mut Buffer) {
        while put(self.0, b"", FlushCompress::Finish, out) != Status::StreamEnd {}
    }
}

/// Run one step, with more room at the end of `out`.
fn put(compress: &mut Compress, input: &[u8], flush: FlushCompress, out: &mut Buffer) -> Status {
    let (start, before) = (out.len(), compress.total_out());
    let status = compress
        .compress(input, out.space(ROOM), flush)
        .expect("zlib compresses anything");
    out.truncate(start + (compress.total_out() - before) as usize);
    status
}
