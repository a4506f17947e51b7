//! Sparse files of GNU tar, in all four forms: a map in the header (the old form), in records (pax 0.0 and 0.1), or before the
//! data (pax 1.0).

use std::io::{self, Read};

use super::pax::decimal;

/// The most pieces of data in one file.
const PIECES_MAX: usize = 1 << 20;
/// The bytes of a piece in a map of the old form: two numbers.
const PIECE: usize = 24;
const NUMBER: usize = 12;
/// Where the header of the old form has its pieces, and the length of the field.
const PIECES_AT: usize = 386;
const PIECES_LEN: usize = 4 * PIECE;
/// The same of the blocks after it.
const MORE_LEN: usize = 21 * PIECE;
const MALFORMED: &str = "the map of a sparse file is malformed";

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
        let at = PIECES_AT + PIECES_LEN;
        self.size = old_number(&block[at + 1..at + 1 + NUMBER]).ok_or(MALFORMED)?;
        self.add_old(&block[PIECES_AT..at])?;
        Ok(block[at] != 0)
    }

    /// Reads the pieces in a block after the header. Returns whether another one follows.
    pub(super) fn add_block(&mut self, block: &[u8]) -> Result<bool, &'static str> {
        self.add_old(&block[..MORE_LEN])?;
        Ok(block[MORE_LEN] != 0)
    }

    fn add_old(&mut self, pieces: &[u8]) -> Result<(), &'static str> {
        let pieces = pieces.chunks(PIECE).take_while(|piece| piece[0] != 0);
        for piece in pieces {
            let (offset, len) = piece.split_at(NUMBER);
            let (offset, len) = (old_number(offset), old_number(len));
            self.add(offset.ok_or(MALFORMED)?, len.ok_or(MALFORMED)?)?;
        }
        Ok(())
    }

    /// Whether `blocks`, a header of the old form and those after it, are the ones that GNU tar writes for this map.
    pub(super) fn is_spelled(&self, blocks: &[u8]) -> bool {
        let (header, more) = blocks.split_at(512);
        let mut pieces = self.pieces.iter();
        let mut tail = [0; 512];
        write_pieces(&mut tail[PIECES_AT..][..=PIECES_LEN], &mut pieces);
        let at = PIECES_AT + PIECES_LEN + 1;
        write_number(&mut tail[at..at + NUMBER], self.size);
        let mut is_same = tail[345..] == header[345..];
        for block in more.chunks(512) {
            let mut expected = [0; 512];
            write_pieces(&mut expected[..=MORE_LEN], &mut pieces);
            is_same &= block == expected;
        }
        is_same && pieces.next().is_none()
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

    fn add(&mut self, offset: u64, len: u64) -> Result<(), &'static str> {
        let end = self.pieces.last().map_or(0, |(offset, len)| offset + len);
        let is_sound = offset >= end && offset.checked_add(len).is_some();
        if !is_sound || self.pieces.len() >= PIECES_MAX {
            return Err(MALFORMED);
        }
        self.pieces.push((offset, len));
        Ok(())
    }

    /// The bytes of data. Fails if a piece lies after the end of the file.
    pub(super) fn data(&self) -> Result<u64, &'static str> {
        match self.pieces.last() {
            Some((offset, len)) if offset + len > self.size => Err(MALFORMED),
            _ => Ok(self.pieces.iter().map(|(_, len)| len).sum()),
        }
    }
}

/// Writes the next of `pieces` to a `field`, whose last byte says whether more follow.
fn write_pieces<'p>(field: &mut [u8], pieces: &mut (impl Iterator<Item = &'p (u64, u64)> + Clone)) {
    let (flag, field) = field.split_last_mut().expect("not empty");
    for (place, (offset, len)) in field.chunks_mut(PIECE).zip(pieces.by_ref()) {
        write_number(&mut place[..NUMBER], *offset);
        write_number(&mut place[NUMBER..], *len);
    }
    *flag = u8::from(pieces.clone().next().is_some());
}

/// Writes a number as GNU tar does: octal, or binary if it is too large.
fn write_number(field: &mut [u8], number: u64) {
    if number < 1 << 33 {
        field[..NUMBER - 1].copy_from_slice(format!("{number:011o}").as_bytes());
    } else {
        field[0] = 0x80;
        field[4..].copy_from_slice(&number.to_be_bytes());
    }
}

fn old_number(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        return field[4..]
            .first_chunk()
            .map(|bytes| u64::from_be_bytes(*bytes));
    }
    let digits = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(digits.trim_matches([' ', '\0']), 8).ok()
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
