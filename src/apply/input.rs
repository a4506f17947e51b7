//! The plain bytes of an archive that may be compressed.
//!
//! What the compression is, the first bytes say. Nothing is read ahead of need but a buffer full, and
//! nothing is believed of a compressed stream that its check sum has not confirmed by its end.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result, filled};

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const BUFFER: usize = 128 << 10;

/// The archive as it was before it was compressed with gzip or Zstandard, if it was.
pub(super) fn plain<'a>(archive: impl Read + 'a) -> Result<Box<dyn BufRead + 'a>> {
    let mut raw = BufReader::with_capacity(BUFFER, archive);
    let mut magic = Vec::new();
    let most = ZSTD.len() as u64;
    raw.by_ref()
        .take(most)
        .read_to_end(&mut magic)
        .map_err(unreadable)?;
    let gzip = magic.starts_with(GZIP);
    let zstd = magic.starts_with(ZSTD);
    let raw = Cursor::new(magic).chain(raw);
    Ok(match () {
        () if gzip => buffered(MultiGzDecoder::new(raw)),
        () if zstd => buffered(zstd::Decoder::with_buffer(raw).map_err(unreadable)?),
        () => Box::new(raw),
    })
}

fn buffered<'a>(decoder: impl Read + 'a) -> Box<dyn BufRead + 'a> {
    Box::new(BufReader::with_capacity(BUFFER, decoder))
}

/// A read that failed, of the file or of what is compressed in it.
pub(super) fn unreadable(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => incomplete(),
        _ => Error::fatal("cannot read the archive").caused_by(error),
    }
}

/// The archive ends before its end.
pub(super) fn incomplete() -> Error {
    Error::fatal("the archive is incomplete")
}

/// What is in the archive is not sound, or not safe.
pub(super) fn damaged(what: impl AsRef<[u8]>) -> Error {
    Error::fatal(filled(
        "the archive cannot be applied: {}",
        &[what.as_ref()],
    ))
}
