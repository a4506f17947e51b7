//! The records of a tar stream, as far as tests need them: to list it, to name the place of a
//! difference, and to take the clock out of it.
//!
//! It believes the headers. Whether real readers do is for `readers.rs`.

use std::fmt::Write as _;
use std::time::SystemTime;

const BLOCK: usize = 512;

/// One header and its data.
pub(crate) struct Record<'a> {
    pub(crate) offset: usize,
    pub(crate) header: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl Record<'_> {
    pub(crate) fn kind(&self) -> char {
        char::from(self.header[156])
    }

    pub(crate) fn mtime(&self) -> u64 {
        octal(&self.header[136..148])
    }

    /// Name with the prefix field in front, or what the header has of it.
    pub(crate) fn name(&self) -> String {
        let (prefix, name) = (text(&self.header[345..500]), text(&self.header[..100]));
        if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        }
    }

    fn line(&self) -> String {
        let mode = text(&self.header[100..108]);
        let target = text(&self.header[157..257]);
        let mut line = format!(
            "{} {mode} {:>9} {}",
            self.kind(),
            self.data.len(),
            self.name()
        );
        if !target.is_empty() {
            write!(line, " -> {target}").expect("a string takes everything");
        }
        if matches!(self.kind(), 'x' | 'g') {
            write!(line, " [{}]", self.data.escape_ascii()).expect("a string takes everything");
        }
        line
    }

    fn end(&self) -> usize {
        self.offset + BLOCK + self.data.len().next_multiple_of(BLOCK)
    }
}

/// All records up to the end marker, or as far as the stream goes.
pub(crate) fn records(archive: &[u8]) -> Vec<Record<'_>> {
    let mut found = Vec::new();
    let mut offset = 0;
    while let Some(header) = archive
        .get(offset..offset + BLOCK)
        .filter(|header| header[0] != 0)
    {
        let size = octal(&header[124..136]) as usize;
        let rest = &archive[offset + BLOCK..];
        let record = Record {
            offset,
            header,
            data: &rest[..size.min(rest.len())],
        };
        offset = record.end();
        found.push(record);
    }
    found
}

/// Whether the stream has its end marker and is a whole number of 10,240 byte blocks.
pub(crate) fn is_complete(archive: &[u8]) -> bool {
    let end = records(archive).last().map_or(0, Record::end);
    let padding = archive.get(end..).unwrap_or_default();
    archive.len().is_multiple_of(10240)
        && padding.len() >= 1024
        && padding.iter().all(|&byte| byte == 0)
}

/// The entries' names, without those of extended headers.
pub(crate) fn names(archive: &[u8]) -> Vec<String> {
    let entries = records(archive)
        .into_iter()
        .filter(|record| !matches!(record.kind(), 'x' | 'g'));
    entries.map(|record| record.name()).collect()
}

/// An archive of a tree carries the present time. Where that is so, put 0 for it, after making sure
/// that it is one time, and between `start` and now; all other archives come back as they are.
#[track_caller]
pub(crate) fn without_time(archive: &[u8], start: SystemTime) -> Vec<u8> {
    let mut settled = archive.to_vec();
    let records = records(archive);
    let Some(first) = records.first().filter(|first| first.kind() != 'g') else {
        return settled;
    };
    let time = first.mtime();
    assert_present(time, start);
    for record in &records {
        assert_eq!(
            record.mtime(),
            time,
            "{} has a time of its own",
            record.name()
        );
        let header = &mut settled[record.offset..record.offset + BLOCK];
        header[136..147].fill(b'0');
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:07o}\0").as_bytes());
    }
    settled
}

/// `time` is between `start` and now.
#[track_caller]
pub(crate) fn assert_present(time: u64, start: SystemTime) {
    let seconds = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH)
            .expect("the clock is past 1970")
            .as_secs()
    };
    // The kernel's coarse clock, which most programs ask, may lag by a tick.
    let present = seconds(start) - 1..=seconds(SystemTime::now());
    assert!(present.contains(&time), "{time} is not the present time");
}

/// Where `actual` first departs from `expected`: in the listing if it shows there, else in the
/// bytes.
pub(crate) fn difference(actual: &[u8], expected: &[u8]) -> String {
    let (ours, theirs) = (records(actual), records(expected));
    for number in 0..ours.len().max(theirs.len()) {
        let [our, their] = [&ours, &theirs].map(|side| side.get(number).map(Record::line));
        if our != their {
            let nothing = || "(nothing)".to_owned();
            let (our, their) = (our.unwrap_or_else(nothing), their.unwrap_or_else(nothing));
            return format!("entry {number}\n  is        {our}\n  should be {their}");
        }
    }
    let same = actual
        .iter()
        .zip(expected)
        .take_while(|(a, b)| a == b)
        .count();
    let place = match ours
        .iter()
        .find(|record| (record.offset..record.end()).contains(&same))
    {
        Some(record) => format!(
            "byte {} of the record of {}",
            same - record.offset,
            record.name()
        ),
        None => "the padding".to_owned(),
    };
    let around = |archive: &[u8]| {
        let start = same.saturating_sub(20).min(archive.len());
        archive[start..(same + 20).min(archive.len())]
            .escape_ascii()
            .to_string()
    };
    format!(
        "byte {same} of {} (should be {}): {place}\n  is        {}\n  should be {}",
        actual.len(),
        expected.len(),
        around(actual),
        around(expected),
    )
}

fn octal(field: &[u8]) -> u64 {
    field
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |sum, byte| sum * 8 + u64::from(byte - b'0'))
}

fn text(field: &[u8]) -> String {
    let end = field
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(field.len());
    field[..end].escape_ascii().to_string()
}

/// A record of pax: its length, its key and its value.
pub(crate) fn pax_record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut len = rest + 1;
    while len != rest + len.to_string().len() {
        len = rest + len.to_string().len();
    }
    [format!("{len} {key}=").as_bytes(), value, b"\n"].concat()
}
