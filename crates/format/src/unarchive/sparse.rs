//! Sparse files of GNU tar, in all four forms: a map in the header (the old form), in records (pax 0.0 and 0.1), or before the
//! data (pax 1.0).

use std::io::{self, Read};

use tar::GnuSparseHeader;

use super::{damage::damaged, pax::decimal};
use sluice_base::error::Result;

/// The most pieces of data in one file.
const PIECES_MAX: usize = 1 << 20;

/// Where a sparse file has data. Everything else is zeros, which are not in the archive.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// Offset and length of each piece, in bytes and in order.
    pieces: Vec<(u64, u64)>,
    /// The size of the file.
    pub(super) size: u64,
}

impl Map {
    /// Adds the `pieces` of a header of the old form.
    pub(super) fn add_headers(&mut self, pieces: &[GnuSparseHeader]) -> Result<()> {
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let bad = |_| damaged("the map of a sparse file is malformed");
            let (offset, len) = (piece.offset().map_err(bad)?, piece.length().map_err(bad)?);
            self.add(offset, len)?;
        }
        Ok(())
    }

    /// Adds the numbers of a list, which are offsets and lengths in turn.
    pub(super) fn add_numbers(&mut self, numbers: &[u8]) -> Result<()> {
        let bad = || damaged("the map of a sparse file is malformed");
        let mut numbers = numbers.split(|byte| *byte == b',').map(decimal);
        while let Some(offset) = numbers.next() {
            let len = numbers.next().flatten();
            self.add(offset.ok_or_else(bad)?, len.ok_or_else(bad)?)?;
        }
        Ok(())
    }

    fn add(&mut self, offset: u64, len: u64) -> Result<()> {
        let end = self.pieces.last().map_or(0, |(offset, len)| offset + len);
        let is_sound = offset >= end && offset.checked_add(len).is_some();
        if !is_sound || self.pieces.len() >= PIECES_MAX {
            return Err(damaged("the map of a sparse file is malformed"));
        }
        self.pieces.push((offset, len));
        Ok(())
    }

    /// The bytes of data. Fails if a piece lies after the end of the file.
    pub(super) fn data(&self) -> Result<u64> {
        match self.pieces.last() {
            Some((offset, len)) if offset + len > self.size => {
                Err(damaged("the map of a sparse file is malformed"))
            }
            _ => Ok(self.pieces.iter().map(|(_, len)| len).sum()),
        }
    }
}

/// The content of a sparse file, whose data comes from `data`.
pub(super) struct Sparse<'a> {
    data: &'a mut dyn Read,
    pieces: std::iter::Peekable<std::vec::IntoIter<(u64, u64)>>,
    at: u64,
    size: u64,
}

impl<'a> Sparse<'a> {
    pub(super) fn new(map: Map, data: &'a mut dyn Read) -> Self {
        Self {
            data,
            pieces: map.pieces.into_iter().peekable(),
            at: 0,
            size: map.size,
        }
    }
}

impl Read for Sparse<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self
            .pieces
            .next_if(|(offset, len)| self.at >= offset + len)
            .is_some()
        {}
        let (is_data, end) = match self.pieces.peek() {
            Some((offset, len)) if self.at >= *offset => (true, offset + len),
            Some((offset, _)) => (false, *offset),
            None => (false, self.size),
        };
        let most = out
            .len()
            .min((end - self.at).try_into().unwrap_or(usize::MAX));
        let read = if is_data {
            self.data.read(&mut out[..most])?
        } else {
            out[..most].fill(0);
            most
        };
        self.at += read as u64;
        Ok(read)
    }
}
