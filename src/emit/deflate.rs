//! Deflate streams with the bytes of classic zlib (RFC 1951), which git is built with.
//!
//! The bytes depend on the encoder: only zlib itself makes them, so no other is used. Window and
//! memory level are git's, which are zlib's defaults.

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::buffer::Buffer;

/// Bytes of room made at once for what comes out.
const ROOM: usize = 64 << 10;

/// How hard to compress, from 0 to 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// What zlib takes without being told.
    pub const DEFAULT: Self = Self(6);

    /// Nothing if `level` is more than there is.
    pub fn new(level: u32) -> Option<Self> {
        (level <= 9).then_some(Self(level as u8))
    }

    /// Whether nothing is compressed at all.
    pub fn stores(self) -> bool {
        self.0 == 0
    }

    pub(super) fn zlib(self) -> Compression {
        Compression::new(self.0.into())
    }
}

/// Makes one raw deflate stream after the other.
#[derive(Default)]
pub struct Deflater(Option<Compress>);

impl Deflater {
    /// Begin a stream.
    pub fn begin(&mut self, level: Level) -> Stream<'_> {
        let compress = self
            .0
            .get_or_insert_with(|| Compress::new(level.zlib(), false));
        compress.reset();
        Stream(compress)
    }

    /// Replace the content of `out` by the stream of `input`; `false` if it has more than `room`
    /// bytes.
    pub fn whole(&mut self, level: Level, input: &[u8], room: usize, out: &mut Buffer) -> bool {
        out.clear();
        let Stream(compress) = self.begin(level);
        loop {
            let rest = &input[compress.total_in() as usize..];
            let len = ROOM.max(rest.len() / 2).min(room - out.len());
            if len == 0 {
                return false;
            }
            if put(compress, rest, FlushCompress::Finish, len, out) == Status::StreamEnd {
                return true;
            }
        }
    }
}

/// A stream that is made piece by piece.
pub struct Stream<'a>(&'a mut Compress);

impl Stream<'_> {
    /// Append what `input` brings out to `out`.
    pub fn feed(&mut self, input: &[u8], out: &mut Buffer) {
        let end = self.0.total_in() + input.len() as u64;
        while self.0.total_in() < end {
            let rest = &input[input.len() - (end - self.0.total_in()) as usize..];
            put(self.0, rest, FlushCompress::None, ROOM, out);
        }
    }

    /// Append the end of the stream to `out`.
    pub fn finish(self, out: &mut Buffer) {
        while put(self.0, b"", FlushCompress::Finish, ROOM, out) != Status::StreamEnd {}
    }
}

/// One step with `room` more bytes at the end of `out`.
fn put(
    compress: &mut Compress,
    input: &[u8],
    flush: FlushCompress,
    room: usize,
    out: &mut Buffer,
) -> Status {
    let (start, before) = (out.len(), compress.total_out());
    let status = compress
        .compress(input, out.space(room), flush)
        .expect("zlib compresses anything");
    out.truncate(start + (compress.total_out() - before) as usize);
    status
}
