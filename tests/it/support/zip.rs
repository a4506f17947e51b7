//! The records of a zip file, as far as tests need them: to list it, to name the place of a
//! difference, and to take the clock out of it.
//!
//! It believes the central directory. Whether real readers do is for `readers.rs`.

use std::ops::Range;
use std::time::SystemTime;

use crate::support::tar_listing::assert_present;

const LOCAL: usize = 30;
const CENTRAL: usize = 46;
const END: usize = 22;
const ZIP64_END: usize = 56;
const ZIP64_LOCATOR: usize = 20;

/// One record of the central directory, and where its local header is.
pub(crate) struct Entry<'a> {
    central: Range<usize>,
    file: &'a [u8],
}

impl<'a> Entry<'a> {
    fn field(&self, range: Range<usize>) -> u64 {
        number(&self.record()[range])
    }

    fn record(&self) -> &'a [u8] {
        &self.file[self.central.clone()]
    }

    pub(crate) fn name(&self) -> String {
        let length = self.field(28..30) as usize;
        self.record()[CENTRAL..CENTRAL + length]
            .escape_ascii()
            .to_string()
    }

    /// Deflated (8) or stored (0).
    pub(crate) fn method(&self) -> u64 {
        self.field(10..12)
    }

    pub(crate) fn flags(&self) -> u64 {
        self.field(8..10)
    }

    /// 1 for what a reader may take for text.
    pub(crate) fn text(&self) -> u64 {
        self.field(36..38)
    }

    pub(crate) fn mtime(&self) -> u64 {
        number(&self.file[self.times()[1].clone()])
    }

    /// Where the local header is; not for what lies beyond 4 GiB.
    pub(crate) fn local(&self) -> usize {
        self.field(42..46) as usize
    }

    /// The places of the time: as DOS has it and as Unix has it, in the central record and in the
    /// local one. The extra field with the second one comes first in both.
    fn times(&self) -> [Range<usize>; 4] {
        let (central, local) = (self.central.start, self.local());
        let name = self.field(28..30) as usize;
        [
            central + 12..central + 16,
            central + CENTRAL + name + 5..central + CENTRAL + name + 9,
            local + 10..local + 14,
            local + LOCAL + name + 5..local + LOCAL + name + 9,
        ]
    }

    fn line(&self) -> String {
        let [sizes, attributes] = [20..28, 36..42].map(|range| &self.record()[range]);
        format!(
            "{} method {} flags {:#06x} made by {:#06x} needs {} crc {:08x} sizes {} attributes {} mtime {} at {}",
            self.name(),
            self.method(),
            self.flags(),
            self.field(4..6),
            self.field(6..8),
            self.field(16..20),
            sizes.escape_ascii(),
            attributes.escape_ascii(),
            self.mtime(),
            self.local(),
        )
    }
}

/// What the directory at the end lists; nothing if there is none.
pub(crate) fn entries(file: &[u8]) -> Vec<Entry<'_>> {
    let Some(end) = end_record(file) else {
        return Vec::new();
    };
    let (mut place, directory_end) = directory(file, end);
    let mut found = Vec::new();
    while place < directory_end {
        let lengths = [28..30, 30..32, 32..34]
            .map(|range| number(&file[place + range.start..place + range.end]) as usize);
        let next = place + CENTRAL + lengths.iter().sum::<usize>();
        found.push(Entry {
            central: place..next,
            file,
        });
        place = next;
    }
    found
}

pub(crate) fn names(file: &[u8]) -> Vec<String> {
    entries(file).iter().map(Entry::name).collect()
}

/// The comment of the archive: the commit, if it is of one.
pub(crate) fn comment(file: &[u8]) -> &[u8] {
    end_record(file).map_or(&[], |end| &file[end + END..])
}

/// Where the end record begins: it is followed by nothing but its comment, which is no id or a hex
/// one.
fn end_record(file: &[u8]) -> Option<usize> {
    let fits = |length: &usize| {
        let place = file.len().checked_sub(END + length);
        place.is_some_and(|place| file[place..].starts_with(b"PK\x05\x06"))
    };
    [0, 40, 64]
        .into_iter()
        .find(fits)
        .map(|length| file.len() - END - length)
}

fn directory(file: &[u8], end: usize) -> (usize, usize) {
    let start = number(&file[end + 16..end + 20]) as usize;
    let is_64 = end >= ZIP64_LOCATOR && file[end - ZIP64_LOCATOR..].starts_with(b"PK\x06\x07");
    if !is_64 {
        return (start, end);
    }
    let record = end - ZIP64_LOCATOR - ZIP64_END;
    (number(&file[record + 48..record + 56]) as usize, record)
}

/// As `tar_listing::without_time`: an archive of a commit comes back as it is, one of a tree has its time
/// checked and taken out.
#[track_caller]
pub(crate) fn without_time(file: &[u8], start: SystemTime) -> Vec<u8> {
    let mut settled = file.to_vec();
    if !comment(file).is_empty() {
        return settled;
    }
    let entries = entries(file);
    for entry in &entries {
        assert_eq!(entry.mtime(), entries[0].mtime(), "{}", entry.line());
        assert_present(entry.mtime(), start);
        for place in entry.times() {
            settled[place].fill(0);
        }
    }
    settled
}

/// Where `actual` first departs from `expected`: in the listing if it shows there, else in the
/// bytes.
pub(crate) fn difference(actual: &[u8], expected: &[u8]) -> String {
    let (ours, theirs) = (entries(actual), entries(expected));
    for number in 0..ours.len().max(theirs.len()) {
        let [our, their] = [&ours, &theirs].map(|side| side.get(number).map(Entry::line));
        if our != their {
            let nothing = || "(nothing)".to_owned();
            let (our, their) = (our.unwrap_or_else(nothing), their.unwrap_or_else(nothing));
            return format!("entry {number}\n  is        {our}\n  should be {their}");
        }
    }
    let same = actual.iter().zip(expected).take_while(|(a, b)| a == b);
    let same = same.count();
    let around = ours.iter().rfind(|entry| entry.local() <= same);
    format!(
        "byte {same} of {} (should be {}), in or behind {}",
        actual.len(),
        expected.len(),
        around.map_or("nothing".to_owned(), Entry::name)
    )
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}
