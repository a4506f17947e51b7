//! Reads the content of files outside the tree.

use std::{fs::File, io};

use crate::plan::extra::{Extra, ExtraSource};
use sluice_base::{
    buffer::Buffer,
    error::{Error, format_bytes, strerror},
    io::each_piece,
};
use sluice_git::objects::Failure;

/// Bytes read at once.
const READ_LEN: usize = 64 << 10;

/// The size in bytes.
pub(super) fn size(extra: &Extra) -> Result<u64, Failure> {
    match &extra.content {
        ExtraSource::Bytes(bytes) => Ok(bytes.len() as u64),
        ExtraSource::File { path, .. } => File::open(path)
            .and_then(|file| file.metadata())
            .map(|metadata| metadata.len())
            .map_err(|error| cannot_read(extra, &error)),
    }
}

/// Append the content to `out`, unless it has more than `limit` bytes.
pub(super) fn read(extra: &Extra, limit: u64, out: &mut Buffer) -> Result<(), Failure> {
    if size(extra)? > limit {
        return Err(Failure::TooLarge);
    }
    stream(extra, &mut |bytes| {
        out.extend(bytes);
        Ok(())
    })
}

/// Pass the content to `taker`, piece by piece.
pub(super) fn stream(
    extra: &Extra,
    taker: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let path = match &extra.content {
        ExtraSource::Bytes(bytes) => return taker(bytes),
        ExtraSource::File { path, .. } => path,
    };
    let failed = |error| cannot_read(extra, &error);
    let file = File::open(path).map_err(failed)?;
    each_piece(file, &mut vec![0; READ_LEN], failed, taker)
}

fn cannot_read(extra: &Extra, error: &io::Error) -> Failure {
    let shown = match &extra.content {
        ExtraSource::File { shown, .. } => shown,
        ExtraSource::Bytes(_) => &extra.name,
    };
    let why = strerror(error);
    let values = [shown, why.as_bytes()];
    Failure::Taker(Error::entry(format_bytes("cannot read '{}': {}", &values)))
}
