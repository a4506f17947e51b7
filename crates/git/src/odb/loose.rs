//! Loose objects: one zlib file each, `<type> <size>\0<content>` (gitformat-loose(5)).
//!
//! The files are read, not mapped: mapping a small file costs more than copying it, and does not scale over
//! threads. The header is inflated first, so memory is allocated only within the stated size and the
//! caller's limit.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use gix_hash::oid;
use gix_object::Kind as ObjectKind;
use sirocco::{Format, inflate::Decoder};

use super::pack::{Damage, MAX_RATIO};
use sluice_base::buffer::Buffer;

/// The longest header that git reads, with the NUL at its end.
const HEADER_MAX: usize = 32;
/// Compressed bytes read at once.
const INPUT_LEN: usize = 64 << 10;
/// Bytes inflated at once when streaming. Deflate refers back up to 32 KiB.
const WINDOW_LEN: usize = 256 << 10;
const CORRUPT: Damage = Damage("loose object is corrupt");
const GARBAGE: Damage = Damage("garbage at end of loose object");

/// The file of the object `id` in the object directory `dir`.
pub fn path(dir: &Path, id: &oid) -> PathBuf {
    let hex = id.to_hex().to_string();
    dir.join(&hex[..2]).join(&hex[2..])
}

/// Tells which ids no loose object has, since there is no directory for them.
pub struct FanOut([bool; 256]);

impl FanOut {
    /// The directories for loose objects in the object directories `dirs`.
    pub fn of(dirs: &[PathBuf]) -> Self {
        let mut found = [false; 256];
        for dir in dirs {
            // What cannot be listed may hold anything.
            let Ok(entries) =
                std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>)
            else {
                return Self([true; 256]);
            };
            let names = entries.iter().map(|entry| entry.file_name());
            let bytes = names.filter_map(|name| u8::from_str_radix(name.to_str()?, 16).ok());
            bytes.for_each(|byte| found[usize::from(byte)] = true);
        }
        Self(found)
    }

    /// Whether there may be a loose object `id`.
    pub fn may_hold(&self, id: &oid) -> bool {
        self.0[usize::from(id.first_byte())]
    }
}

/// Reads loose objects, one after the other.
#[derive(Default)]
pub struct Reader {
    /// Created on first use: the decoder is large, and most objects are packed.
    decoder: Option<Box<Decoder>>,
    /// Compressed bytes, from the beginning of the file.
    input: Vec<u8>,
}

/// A loose object after its header was read and before its content is read.
pub struct Opened<'a> {
    /// The type of the object.
    pub kind: ObjectKind,
    /// The size of the content in bytes, as the header claims.
    pub size: u64,
    decoder: &'a mut Decoder,
    input: &'a mut Vec<u8>,
    file: File,
    file_len: u64,
    header_len: usize,
}

impl Reader {
    /// Open the object at `path` and read its header.
    pub fn open(&mut self, path: &Path) -> io::Result<Opened<'_>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        self.input.clear();
        file.by_ref()
            .take(INPUT_LEN as u64)
            .read_to_end(&mut self.input)?;
        let new = || Box::new(Decoder::new(Format::Zlib));
        let decoder = self.decoder.get_or_insert_with(new);
        decoder.reset();
        let mut head = [0; HEADER_MAX];
        let progress = decoder
            .decompress(&self.input, &mut head, false)
            .map_err(corrupt)?;
        let (kind, size, header_len) =
            parse_header(progress.output).ok_or_else(|| corrupt(CORRUPT))?;
        Ok(Opened {
            kind,
            size,
            decoder,
            input: &mut self.input,
            file,
            file_len: len,
            header_len,
        })
    }

    /// Free the buffer of compressed bytes if it has more than `max` bytes.
    pub fn trim(&mut self, max: usize) {
        if self.input.capacity() > max {
            self.input = Vec::new();
        }
    }
}

impl Opened<'_> {
    /// The size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.file_len
    }

    /// Append the content to `out`, which grows by [`Self::size`].
    pub fn read(mut self, out: &mut Buffer) -> io::Result<()> {
        if self.size / MAX_RATIO > self.file_len {
            return Err(corrupt(CORRUPT));
        }
        let size = usize::try_from(self.size).map_err(corrupt)?;
        let (decoder, input) = (self.decoder, self.input);
        if input.len() == INPUT_LEN {
            // Deflate expands incompressible content by less than this.
            let rest = self.size + self.size / 1000 + INPUT_LEN as u64;
            self.file.by_ref().take(rest).read_to_end(input)?;
        }
        let start = out.len();
        let space = out.space(self.header_len + size);
        decoder.reset();
        let progress = decoder.decompress(input, space, true).map_err(corrupt)?;
        if !progress.done || progress.output.len() != self.header_len + size {
            return Err(corrupt(CORRUPT));
        }
        if progress.consumed as u64 != self.file_len {
            return Err(corrupt(GARBAGE));
        }
        space.copy_within(self.header_len.., 0);
        out.truncate(start + size);
        Ok(())
    }

    /// Pass the content piece by piece to `each`, in constant memory.
    pub fn stream<E: From<io::Error>>(
        mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (decoder, input) = (self.decoder, self.input);
        let mut window = vec![0; WINDOW_LEN];
        let mut skip = self.header_len;
        let mut total = 0;
        decoder.reset();
        loop {
            if input.is_empty() {
                self.file
                    .by_ref()
                    .take(INPUT_LEN as u64)
                    .read_to_end(input)?;
            }
            let end = input.is_empty();
            let progress = decoder
                .decompress(input, &mut window, end)
                .map_err(corrupt)?;
            let output = &progress.output[skip.min(progress.output.len())..];
            skip -= progress.output.len() - output.len();
            total += output.len() as u64;
            if total > self.size || (progress.done && total < self.size) {
                return Err(corrupt(CORRUPT).into());
            }
            each(output)?;
            if progress.done {
                let is_all = progress.consumed == input.len() && self.file.read(&mut [0])? == 0;
                return if is_all {
                    Ok(())
                } else {
                    Err(corrupt(GARBAGE).into())
                };
            }
            let (consumed, full) = (progress.consumed, progress.full);
            input.drain(..consumed);
            if full {
                decoder.make_room(&mut window);
            }
        }
    }
}

fn parse_header(bytes: &[u8]) -> Option<(ObjectKind, u64, usize)> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let space = bytes[..end].iter().position(|&byte| byte == b' ')?;
    let kind = ObjectKind::from_bytes(&bytes[..space]).ok()?;
    let size = parse_size(&bytes[space + 1..end])?;
    Some((kind, size, end + 1))
}

/// Parse a decimal number without leading zeros.
fn parse_size(digits: &[u8]) -> Option<u64> {
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    if !is_plain || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn corrupt(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, source)
}
