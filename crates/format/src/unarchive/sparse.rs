//! Sparse files of GNU tar, in all four forms: a map in the header (the old form), in records (pax 0.0 and 0.1), or before the
//! data (pax 1.0).

use std::{
    io::{self, Read},
    ops::Range,
};

use super::{
    grammar::{LARGE, is_zero, octal},
    pax::decimal,
};

/// The most pieces of data in one file.
const PIECES_MAX: usize = 1 << 20;
/// The bytes of which GNU tar reads whole ones for each piece.
const BLOCK: u64 = 512;
/// The bytes of a piece in a map of the old form: two numbers.
const PIECE: usize = 24;
const NUMBER: usize = 12;
/// Where the header of the old form has times and unused bytes, which GNU tar leaves empty, its pieces, and the size.
const TIMES: Range<usize> = 345..386;
const PIECES: Range<usize> = 386..483;
const SIZE: Range<usize> = 483..495;
/// The length of the field with pieces in the blocks after it.
const MORE_LEN: usize = 21 * PIECE + 1;
pub(super) const MALFORMED: &str = "the map of a sparse file is malformed";

/// Where a sparse file has data. Everything else is zeros, which are not in the archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    /// Offset and length of each piece, in bytes and in order.
    pieces: Vec<(u64, u64)>,
    /// The size of the file.
    pub(super) size: u64,
}

impl Map {
    /// Reads the pieces in the header of the old form, and its size. Returns whether a block with more pieces follows.
    pub(super) fn add_header(&mut self, block: &[u8]) -> Result<bool, &'static str> {
        self.size = old_number(&block[SIZE]).ok_or(MALFORMED)?;
        self.add_old(&block[PIECES], [&block[TIMES], &block[SIZE.end..]])
    }

    /// Reads the pieces in a block after the header. Returns whether another one follows.
    pub(super) fn add_block(&mut self, block: &[u8]) -> Result<bool, &'static str> {
        let (pieces, padding) = block.split_at(MORE_LEN);
        self.add_old(pieces, [padding, b""])
    }

    /// Reads the pieces in `field`, whose last byte says whether more follow. All of it, and the `padding`, is as GNU tar writes it.
    fn add_old(&mut self, field: &[u8], padding: [&[u8]; 2]) -> Result<bool, &'static str> {
        let (has_more, pieces) = field.split_last().expect("not empty");
        let len = pieces.chunks(PIECE).take_while(|piece| piece[0] != 0);
        let (pieces, rest) = pieces.split_at(len.count() * PIECE);
        for piece in pieces.chunks(PIECE) {
            let (offset, len) = piece.split_at(NUMBER);
            let (offset, len) = (old_number(offset), old_number(len));
            self.add(offset.ok_or(MALFORMED)?, len.ok_or(MALFORMED)?)?;
        }
        let has_room = is_zero(rest) && padding.into_iter().all(is_zero);
        let is_spelled = has_room && *has_more <= u8::from(rest.is_empty());
        is_spelled.then_some(*has_more == 1).ok_or(MALFORMED)
    }

    /// Adds the numbers of a list, which are offsets and lengths in turn.
    pub(super) fn add_numbers(&mut self, numbers: &[u8]) -> Result<(), &'static str> {
        let mut numbers = numbers.split(|byte| *byte == b',').map(decimal);
        while let Some(offset) = numbers.next() {
            let len = numbers.next().flatten();
            self.add(offset.ok_or(MALFORMED)?, len.ok_or(MALFORMED)?)?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, offset: u64, len: u64) -> Result<(), &'static str> {
        // Only the last piece may be empty, or end within a block.
        let last = self.pieces.last();
        let (end, is_whole) = last.map_or((0, true), |(offset, len)| {
            (offset + len, *len > 0 && len % BLOCK == 0)
        });
        let is_sound = is_whole && offset >= end && offset.checked_add(len).is_some();
        if !is_sound || self.pieces.len() >= PIECES_MAX {
            return Err(MALFORMED);
        }
        self.pieces.push((offset, len));
        Ok(())
    }

    /// The bytes of data. Fails unless the last piece ends where the file does: GNU tar cuts or extends the file there.
    pub(super) fn data(&self) -> Result<u64, &'static str> {
        let end = self.pieces.last().map_or(0, |(offset, len)| offset + len);
        let data = self.pieces.iter().map(|(_, len)| len).sum();
        (end == self.size).then_some(data).ok_or(MALFORMED)
    }

    /// Whether the file has no data, and one piece says so.
    pub(super) fn is_hole(&self) -> bool {
        self.pieces == [(self.size, 0)]
    }
}

/// A number as GNU tar writes it: octal, or binary if it is too large.
fn old_number(field: &[u8]) -> Option<u64> {
    if let [0x80, 0, 0, 0, binary @ ..] = field {
        let number = u64::from_be_bytes(*binary.first_chunk()?);
        return (number >= LARGE).then_some(number);
    }
    let (end, digits) = field.split_last()?;
    let is_octal = *end == 0 && digits.iter().all(|digit| matches!(digit, b'0'..=b'7'));
    is_octal.then(|| octal(digits))?
}

/// The records of a sparse file.
#[derive(Default)]
pub(super) struct Records {
    map: Map,
    /// The name of the file. The other name is for programs that know no sparse files.
    pub(super) name: Option<Vec<u8>>,
    /// The keys in their order.
    keys: Vec<u8>,
    blocks: u64,
    offset: u64,
}

impl Records {
    /// Adds a record, whose `key` is without its prefix.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let number = || decimal(value).ok_or("a number of a sparse file is malformed");
        let letter = match key {
            b"major" if value == b"1" => b'M',
            b"minor" if value == b"0" => b'm',
            b"name" => {
                self.name = Some(value.to_vec());
                b'n'
            }
            b"realsize" | b"size" => {
                self.map.size = number()?;
                key[0]
            }
            b"numblocks" => {
                self.blocks = number()?;
                b'b'
            }
            b"map" => {
                self.map.add_numbers(value)?;
                b'p'
            }
            b"offset" => {
                self.offset = number()?;
                b'o'
            }
            b"numbytes" => {
                self.map.add(self.offset, number()?)?;
                b'l'
            }
            _ => b'?',
        };
        self.keys.push(letter);
        Ok(())
    }

    /// Whether the map comes before the data, as of version 1.0.
    pub(super) fn has_map_before_data(&self) -> bool {
        self.keys == b"Mmnr"
    }

    /// Whether the records are those of one of the three forms that programs write.
    pub(super) fn is_known(&self) -> bool {
        let count = self.map.pieces.len() as u64;
        let is_of_0 = match self.keys.strip_prefix(b"sb") {
            Some(b"np") => true,
            Some(pairs) => pairs == b"ol".repeat(pairs.len() / 2) && !pairs.is_empty(),
            None => false,
        };
        self.has_map_before_data() || (is_of_0 && self.blocks == count)
    }

    /// Whether `other` is the name that programs write for those that know no sparse files.
    pub(super) fn allows(&self, other: &[u8]) -> bool {
        let Some(name) = &self.name else { return true };
        let at = name
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |at| at + 1);
        let (directory, base) = name.split_at(at);
        let rest = other.strip_prefix(directory).unwrap_or(other);
        let rest = rest.strip_prefix(b"./").unwrap_or(rest);
        let number = rest
            .strip_prefix(b"GNUSparseFile.")
            .and_then(|rest| rest.strip_suffix(base)?.strip_suffix(b"/"));
        other == name || number.is_some_and(|number| decimal(number).is_some())
    }

    /// Where the data is, as far as the records say.
    pub(super) fn into_map(self) -> Map {
        self.map
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
