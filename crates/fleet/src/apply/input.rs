//! The plain bytes of an archive that may be compressed.
//!
//! The first bytes tell the compression. The checksums in a compressed stream are verified. A stream may have any number
//! of gzip members and zeros after them, or of Zstandard frames, skippable ones among them.

use std::io::{self, BufReader, Cursor, ErrorKind, Read};

use sluice_base::error::{Error, Result, format_bytes, strerror};
use sluice_format::unarchive::{self, Members};

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The last three bytes of four; the first one is any from `0x50` to `0x5f`.
const ZSTD_SKIPPABLE: &[u8] = b"\x2a\x4d\x18";
/// Formats that are not read, by their first bytes.
const OTHERS: [(&[u8], &str); 3] = [
    (b"PK\x03\x04", "a zip"),
    (b"\xfd7zX", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
];
const BUFFER: usize = 128 << 10;

/// The archive, decompressed if it is compressed with gzip or Zstandard.
pub(super) fn plain<'a>(mut archive: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    let mut magic = Vec::new();
    let most = ZSTD.len() as u64;
    archive
        .by_ref()
        .take(most)
        .read_to_end(&mut magic)
        .map_err(unreadable)?;
    if let Some((_, format)) = OTHERS.iter().find(|(begin, _)| magic.starts_with(begin)) {
        let refused = format!("cannot read the archive: it is {format}");
        return Err(Error::fatal(refused).hinted("git sluice apply reads tar, tar.gz and tar.zst"));
    }
    let gzip = magic.starts_with(GZIP);
    let zstd = magic.starts_with(ZSTD) || is_skippable(&magic);
    let raw = Cursor::new(magic).chain(archive);
    let buffered = |raw| BufReader::with_capacity(BUFFER, raw);
    Ok(if gzip {
        Box::new(Members::new(buffered(raw)))
    } else if zstd {
        Box::new(zstd::Decoder::with_buffer(buffered(raw)).map_err(unreadable)?)
    } else {
        Box::new(raw)
    })
}

/// Whether a skippable frame of Zstandard begins with these four bytes.
fn is_skippable(magic: &[u8]) -> bool {
    matches!(magic, [0x50..=0x5f, rest @ ..] if rest == ZSTD_SKIPPABLE)
}

/// The error of a failed read: that of the system, or damage of the compressed content.
pub(super) fn unreadable(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => incomplete(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
            unarchive::unreadable(error)
        }
        _ => Error::fatal("cannot read the archive").caused_by(strerror(&error)),
    }
}

/// The archive ends too early.
pub(super) fn incomplete() -> Error {
    Error::damaged("the archive is incomplete")
}

/// The archive has other bytes than were written.
pub(super) fn damaged(cause: &str) -> Error {
    Error::damaged("the archive is damaged").caused_by(cause)
}

/// The archive has content that is unsafe, or that git does not write.
pub(super) fn unfit(what: impl AsRef<[u8]>) -> Error {
    Error::fatal(format_bytes(
        "the archive cannot be applied: {}",
        &[what.as_ref()],
    ))
}
