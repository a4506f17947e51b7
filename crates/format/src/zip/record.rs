//! The records of a zip file, field by field (APPNOTE.TXT, section 4.3), filled in as git does.

use std::io::{self, Write};

use super::super::Records;
use sluice_base::buffer::{
    Buffer,
    spool::{Spool, Spooled},
};

/// The largest number of the 32-bit fields. Larger sizes and offsets go to zip64 fields.
const MAX32: u64 = u32::MAX as u64;
/// The largest streamed file to which git gives 32-bit fields, although the fields would hold more.
const STREAM_MAX: u64 = i32::MAX as u64;
const LOCAL_LEN: usize = 30;
const TIMES_LEN: usize = 9;
const LOCAL_ZIP64_LEN: usize = 20;
const VERSION: u16 = 10;
const VERSION_ZIP64: u16 = 45;
/// Flag: sizes and checksum follow the body.
const STREAMED: u16 = 1 << 3;
/// Flag: the name is UTF-8.
const UTF8: u16 = 1 << 11;

/// How a body is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Store = 0,
    Deflate = 8,
}

/// The time of all entries, in the two forms of a zip file.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Local time and date in the form of MS-DOS.
    pub dos: [u16; 2],
    /// Seconds since 1970, the low 32 bits.
    pub unix: u32,
}

/// The fields of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZipEntry {
    pub(super) made_by: u16,
    pub(super) method: Method,
    pub(super) streamed: bool,
    pub(super) utf8: bool,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    pub(super) text: bool,
    /// Attributes for MS-DOS in the low bits, the mode for Unix in the high bits.
    pub(super) attributes: u32,
}

impl ZipEntry {
    fn local_zip64(&self) -> bool {
        let limit = if self.streamed { STREAM_MAX } else { MAX32 };
        self.size > limit || self.packed > MAX32
    }

    /// Append the fields before the sizes, which both kinds of record share.
    fn common(&self, times: Times, out: &mut Buffer) {
        let version = if self.local_zip64() {
            VERSION_ZIP64
        } else {
            VERSION
        };
        let streamed = if self.streamed { STREAMED } else { 0 };
        let utf8 = if self.utf8 { UTF8 } else { 0 };
        put16(out, version);
        put16(out, streamed | utf8);
        put16(out, self.method as u16);
        put16(out, times.dos[0]);
        put16(out, times.dos[1]);
    }

    /// The length of the header before the body.
    pub(super) fn local_len(&self, name: &[u8]) -> usize {
        let zip64 = if self.local_zip64() {
            LOCAL_ZIP64_LEN
        } else {
            0
        };
        LOCAL_LEN + name.len() + TIMES_LEN + zip64
    }

    /// Append the header before the body. A streamed body has no known checksum, and no known packed size
    /// if it is deflated.
    pub(super) fn local(&self, name: &[u8], times: Times, out: &mut Buffer) {
        let zip64 = self.local_zip64();
        out.extend(b"PK\x03\x04");
        self.common(times, out);
        put32(out, self.crc.into());
        put32(out, if zip64 { MAX32 } else { self.packed });
        put32(out, if zip64 { MAX32 } else { self.size });
        put16(out, name.len() as u16);
        put16(out, (self.local_len(name) - LOCAL_LEN - name.len()) as u16);
        out.extend(name);
        unix_time(times, out);
        if zip64 {
            put16(out, 1);
            put16(out, 16);
            put64(out, self.size);
            put64(out, self.packed);
        }
    }

    /// Append the descriptor, which follows the body of a streamed file.
    pub(super) fn descriptor(&self, out: &mut Buffer) {
        out.extend(b"PK\x07\x08");
        put32(out, self.crc.into());
        let wide = self.packed >= MAX32 || self.size >= MAX32;
        let put = if wide { put64 } else { put32 };
        put(out, self.packed);
        put(out, self.size);
    }

    /// Append the record for the directory. The header is at byte `offset` of the archive.
    pub(super) fn central(&self, name: &[u8], times: Times, offset: u64, out: &mut Buffer) {
        let values = [self.size, self.packed, offset];
        let zip64 = if values.iter().any(|&value| value > MAX32) {
            values.iter().filter(|&&value| value >= MAX32).count() * 8 + 4
        } else {
            0
        };
        out.extend(b"PK\x01\x02");
        put16(out, self.made_by);
        self.common(times, out);
        put32(out, self.crc.into());
        put32(out, self.packed);
        put32(out, self.size);
        put16(out, name.len() as u16);
        put16(out, (TIMES_LEN + zip64) as u16);
        // No comment, first disk.
        put16(out, 0);
        put16(out, 0);
        put16(out, self.text.into());
        put32(out, self.attributes.into());
        put32(out, offset);
        out.extend(name);
        unix_time(times, out);
        if zip64 > 0 {
            put16(out, 1);
            put16(out, zip64 as u16 - 4);
            for value in values.into_iter().filter(|&value| value >= MAX32) {
                put64(out, value);
            }
        }
    }
}

/// Append the extra field "UT": the time in seconds since 1970.
fn unix_time(times: Times, out: &mut Buffer) {
    out.extend(b"UT\x05\x00\x01");
    put32(out, times.unix.into());
}

/// Entries whose position in the archive is still unknown.
#[derive(Default)]
pub struct Pending {
    entries: Vec<Placed>,
    names: Vec<u8>,
}

/// An entry and the offset of its header.
struct Placed {
    entry: ZipEntry,
    /// The end of the name in the buffer of all names.
    name_end: usize,
    /// The offset from the beginning of the part. Negative if the header was written in an earlier part.
    offset: i64,
}

impl Pending {
    pub(super) fn push(&mut self, entry: ZipEntry, name: &[u8], offset: i64) {
        self.names.extend_from_slice(name);
        self.entries.push(Placed {
            entry,
            name_end: self.names.len(),
            offset,
        });
    }

    /// The entry that was pushed last.
    pub(super) fn last(&self) -> Option<&ZipEntry> {
        self.entries.last().map(|placed| &placed.entry)
    }
}

impl Records for Pending {
    fn mark(&self) -> usize {
        self.entries.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.entries.truncate(mark);
        self.names
            .truncate(self.entries.last().map_or(0, |last| last.name_end));
    }

    fn capacity(&self) -> usize {
        self.entries.capacity() * size_of::<Placed>() + self.names.capacity()
    }
}

/// The directory at the end of the archive, in memory up to a limit, beyond the limit on disk.
pub struct CentralDirectory {
    records: Spool,
    entries: u64,
    made_by: u16,
    /// The record in progress.
    record: Buffer,
}

impl CentralDirectory {
    /// Hold up to `max_memory` bytes in memory.
    pub(super) fn new(max_memory: usize) -> Self {
        Self {
            records: Spool::new(max_memory),
            entries: 0,
            made_by: 0,
            record: Buffer::default(),
        }
    }

    /// Move the `pending` entries of a part that begins at byte `start` into the directory.
    pub(super) fn place(
        &mut self,
        pending: &mut Pending,
        times: Times,
        start: u64,
    ) -> io::Result<()> {
        let mut name = 0;
        for placed in pending.entries.drain(..) {
            let Placed {
                entry,
                name_end,
                offset,
            } = placed;
            let at = start.wrapping_add_signed(offset);
            self.record.clear();
            entry.central(&pending.names[name..name_end], times, at, &mut self.record);
            self.records.write_all(&self.record)?;
            name = name_end;
            self.entries += 1;
            self.made_by = self.made_by.max(entry.made_by);
        }
        pending.names.clear();
        Ok(())
    }

    /// The directory, which begins at byte `start`, and the end records after it.
    pub(super) fn end(self, comment: &str, start: u64) -> io::Result<(Spooled, Buffer)> {
        let (entries, len) = (self.entries, self.records.size());
        let mut out = Buffer::default();
        if entries > u16::MAX.into() || start > MAX32 {
            out.extend(b"PK\x06\x06");
            put64(&mut out, 44);
            put16(&mut out, self.made_by);
            put16(&mut out, VERSION_ZIP64);
            put32(&mut out, 0);
            put32(&mut out, 0);
            for value in [entries, entries, len, start] {
                put64(&mut out, value);
            }
            out.extend(b"PK\x06\x07");
            put32(&mut out, 0);
            put64(&mut out, start + len);
            put32(&mut out, 1);
        }
        let few = entries.min(u16::MAX.into()) as u16;
        out.extend(b"PK\x05\x06");
        for value in [0, 0, few, few] {
            put16(&mut out, value);
        }
        // Truncated instead of capped, as in git.
        put32(&mut out, len & MAX32);
        put32(&mut out, start);
        put16(&mut out, comment.len() as u16);
        out.extend(comment.as_bytes());
        Ok((self.records.finish()?, out))
    }
}

fn put16(out: &mut Buffer, value: u16) {
    out.extend(&value.to_le_bytes());
}

/// Append a number, capped to the field. A capped number is stored in a zip64 field.
fn put32(out: &mut Buffer, value: u64) {
    out.extend(&(value.min(MAX32) as u32).to_le_bytes());
}

fn put64(out: &mut Buffer, value: u64) {
    out.extend(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{CentralDirectory, Method, Pending, Times, ZipEntry};

    const TIMES: Times = Times {
        dos: [1, 2],
        unix: 3,
    };

    /// A directory of three parts with `per_part` entries each, held in memory up to `max_memory` bytes.
    fn directory(max_memory: usize, per_part: u32) -> Vec<u8> {
        let mut directory = CentralDirectory::new(max_memory);
        for part in 0..3 {
            let mut pending = Pending::default();
            for number in 0..per_part {
                let entry = ZipEntry {
                    made_by: 0,
                    method: Method::Store,
                    streamed: false,
                    utf8: false,
                    crc: number,
                    packed: 1,
                    size: 1,
                    text: true,
                    attributes: 0,
                };
                pending.push(entry, format!("{part}/{number}").as_bytes(), 100);
            }
            let placed = directory.place(&mut pending, TIMES, part << 20);
            placed.expect("room in the temporary directory");
        }
        let (records, end) = directory
            .end("comment", 3 << 20)
            .expect("room in the temporary directory");
        let mut bytes = Vec::new();
        records.reader().read_to_end(&mut bytes).expect("readable");
        [&bytes, &end[..]].concat()
    }

    #[test]
    fn a_directory_is_the_same_from_memory_and_from_disk() {
        for per_part in [0, 1, 1000, 22_000] {
            let in_memory = directory(usize::MAX, per_part);
            assert!(
                directory(10_000, per_part) == in_memory,
                "{per_part} a part"
            );
            let headers = in_memory.windows(4).filter(|bytes| bytes == b"PK\x01\x02");
            assert_eq!(headers.count(), 3 * per_part as usize);
        }
    }
}
