//! The records of a zip that programs are known to write (APPNOTE.TXT, section 4.3), field by field, and the words for others.

use super::{
    grammar::{Doubt, is_zero, require},
    tar::is_like_directory,
};

/// The lengths of the fixed parts of a record of the directory, and of the header before a content.
pub(super) const CENTRAL: u64 = 46;
const LOCAL: usize = 30;
/// The most bytes of a record after a content.
pub(super) const DESCRIPTOR_MAX: u64 = 24;
/// The record at the end of a zip64, and the one that says where it is.
pub(super) const LARGE_END: u64 = 56 + 20;
/// The most bytes in which all programs look for the end.
pub(super) const END_MAX: u64 = 16 << 10;
const END: &[u8] = b"PK\x05\x06";

const DISAGREE: &str = "its two headers disagree: programs that read in order write other files than those that use the directory";
const VERSION: &str = "it asks for an unknown version of zip: some programs skip it";
const FLAGS: &str = "its flags are unknown: some programs obey them, others ignore them";
const FIELD: &str =
    "a field of its header is unknown or cut: some programs obey it, others ignore it";
const HOST: &str = "its attributes are unknown: programs give it other permissions, or skip it";
const NAME: &str = "programs decode its name differently";
const TYPES: &str =
    "its name and its attributes disagree: some programs write a file, others a directory";

/// Length, versions, and the bits for compression, for a record after the content, and for names in UTF-8.
const VERSION_MAX: u16 = 63;
const FLAGS_KNOWN: u16 = 0b1000_0000_1111;
const FLAG_DESCRIPTOR: u16 = 8;
const FLAG_UTF8: u16 = 0x800;
/// DOS, NTFS of two programs, OS X; Unix.
const DOS: [u8; 4] = [0, 10, 11, 19];
const UNIX: u8 = 3;
/// Attributes of DOS and Windows: read-only, hidden, system, directory, archive, normal, not indexed. OS X and 7-Zip add a bit each.
/// unzip skips labels (8).
const ATTRIBUTES: u32 = 0xe0b7;
const ATTRIBUTE_DIRECTORY: u32 = 0x10;
/// Extra fields: of large files, of times and owners, of Java, of names and comments, of libarchive, of alignment.
const LARGE_FIELD: u16 = 1;
const PATH_FIELD: u16 = 0x7075;
const LIBARCHIVE_FIELD: u16 = 0x6c78;
const FREE_FIELDS: [u16; 8] = [
    0x000a, 0x5455, 0x5855, 0x6375, 0x7855, 0x7875, 0xcafe, 0xd935,
];

/// The parts of a header that have no fixed length.
#[derive(Clone, Copy)]
pub(super) struct Header<'a> {
    pub(super) name: &'a [u8],
    pub(super) extra: &'a [u8],
}

/// The checksum and the sizes of a content.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) plain: u64,
}

impl Sums {
    /// Whether `record` is the one that follows the content.
    pub(super) fn is_descriptor(&self, record: &[u8]) -> bool {
        let sizes = [self.compressed, self.plain];
        let sizes = match record.len() {
            16 => sizes.map(|size| (size as u32).to_le_bytes()).concat(),
            _ => sizes.map(u64::to_le_bytes).concat(),
        };
        record == [&b"PK\x07\x08"[..], &self.crc.to_le_bytes(), &sizes].concat()
    }
}

/// Why programs may understand an entry differently. Its record in the directory has the `fixed` part and the rest, and all of
/// `local` is before its content.
pub(super) fn check(fixed: &[u8], central: Header<'_>, local: &[u8], sums: Sums) -> Doubt {
    let (name, flags) = (central.name, u16_at(fixed, 8));
    let (before, local) = local.split_at(LOCAL);
    let (local_name, extra) = local.split_at(u16_at(before, 26).into());
    let local = Header {
        name: local_name,
        extra,
    };
    let version = u16_at(fixed, 6).max(u16_at(before, 4));
    // Flags, method, time and date.
    let is_same = name == local.name && fixed[8..16] == before[6..14];
    let is_utf8 = flags & FLAG_UTF8 != 0 && std::str::from_utf8(name).is_ok();
    let is_plain = !name.iter().any(|byte| matches!(byte, 0 | b'\\'));
    let has_later = flags & FLAG_DESCRIPTOR != 0;
    let large = large_field(central, fixed);
    let local_large = large_field(local, fixed);
    let has_sums = local_large.is_none_or(|large| has_sums(before, large, sums, has_later));
    let saturated = [20, 24, 42].map(|at| u32_at(fixed, at) == u32::MAX);
    let needed = 8 * saturated.iter().filter(|is_large| **is_large).count();
    let has_needed = large.is_some_and(|large| large.map_or(0, <[u8]>::len) == needed);
    // The first disk; and whether a program that converts texts may do so. unzip takes other bits for a link that is a file.
    let is_usual = u16_at(fixed, 34) == 0 && u16_at(fixed, 36) <= 1;
    let mut doubt = None;
    require(&mut doubt, version <= VERSION_MAX, VERSION);
    require(&mut doubt, is_same, DISAGREE);
    require(&mut doubt, flags & !FLAGS_KNOWN == 0, FLAGS);
    require(&mut doubt, is_plain && (name.is_ascii() || is_utf8), NAME);
    require(&mut doubt, has_sums, DISAGREE);
    require(
        &mut doubt,
        has_needed && local_large.is_some() && is_usual,
        FIELD,
    );
    check_attributes(fixed, name, &mut doubt);
    doubt
}

/// Whether the header before a content has these sums. If a record after the content has them, the header may have zeros.
fn has_sums(before: &[u8], large: Option<&[u8]>, sums: Sums, is_later: bool) -> bool {
    let is_right = |stated: u64, right: u64| stated == right || (is_later && stated == 0);
    let large = match large {
        None => None,
        Some(large) if large.len() == 16 => Some([u64_at(large, 8), u64_at(large, 0)]),
        Some(_) => return false,
    };
    let sizes = [(18, sums.compressed), (22, sums.plain)];
    let mut sizes = sizes.iter().enumerate();
    is_right(u32_at(before, 14).into(), sums.crc.into())
        && sizes.all(|(number, (at, size))| {
            let stated = u32_at(before, *at);
            let is_large = large.is_none_or(|large| is_right(large[number], *size));
            let is_small = is_right(stated.into(), *size);
            is_large && (is_small || (stated == u32::MAX && large.is_some()))
        })
}

/// Compares host and attributes of a record of the directory with the name of its entry.
fn check_attributes(fixed: &[u8], name: &[u8], doubt: &mut Doubt) {
    let (host, attributes) = (fixed[5], u32_at(fixed, 38));
    let (low, mode) = (attributes & 0xffff, attributes >> 16);
    let is_directory = name.ends_with(b"/");
    let is_like_directory = is_like_directory(name);
    // Only some programs take permissions of Unix from other hosts, so that these must say the same as none.
    let is_plain = is_directory || matches!(mode & !0o666, 0 | 0o100_000);
    // Devices and types that nothing has are files for some programs.
    let has_type = matches!(mode >> 12, 0 | 0o04 | 0o10 | 0o12);
    let is_known = has_type && (host == UNIX || (DOS.contains(&host) && is_plain));
    let is_right = match mode >> 12 {
        // Without a type, some programs ignore the permissions.
        0 => is_directory || mode & 0o111 == 0,
        0o04 => is_directory,
        _ => !is_directory,
    };
    require(doubt, is_known && low & !ATTRIBUTES == 0, HOST);
    require(
        doubt,
        is_right && (is_directory || !(is_like_directory || low & ATTRIBUTE_DIRECTORY != 0)),
        TYPES,
    );
}

/// The field of large sizes in a header, if it has one. `None` if a field is unknown, occurs again, is cut, or disagrees with the
/// record of the directory.
fn large_field<'a>(header: Header<'a>, fixed: &[u8]) -> Option<Option<&'a [u8]>> {
    let (mut rest, mut seen, mut large) = (header.extra, Vec::new(), None);
    // Some programs align contents by zeros that are no field.
    while rest.len() >= 4 {
        let (id, len) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
        let value = rest.get(4..4 + len)?;
        rest = &rest[4 + len..];
        let is_known = match id {
            LARGE_FIELD => large.replace(value).is_none(),
            PATH_FIELD => value == path_field(header.name),
            // What the directory says, for programs that do not see it.
            LIBARCHIVE_FIELD => value == [&[7], &fixed[4..6], &fixed[36..42]].concat(),
            id => FREE_FIELDS.contains(&id),
        };
        if !is_known || seen.contains(&id) {
            return None;
        }
        seen.push(id);
    }
    is_zero(rest).then_some(large)
}

/// The field that states `name` in UTF-8, with the checksum of the other name.
fn path_field(name: &[u8]) -> Vec<u8> {
    [&[1], &crc32fast::hash(name).to_le_bytes()[..], name].concat()
}

/// Where the directory is, and the number of its records.
pub(super) struct Directory {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) count: u64,
}

impl Directory {
    /// Whether the record `end`, which may have a comment and zeros after it, and the records of a `large` zip state this.
    pub(super) fn is_stated(&self, end: &[u8], large: Option<&[u8]>) -> bool {
        let Some(after) = end.get(22 + usize::from(u16_at(end, 20))..) else {
            return false;
        };
        let is_right = |stated: u64, max: u64, right: u64| {
            stated == right || (stated == max && large.is_some())
        };
        let is_last = !end[4..].windows(END.len()).any(|bytes| bytes == END);
        let is_single = u16_at(end, 4) == 0 && u16_at(end, 6) == 0;
        let counts = [8, 10].map(|at| u64::from(u16_at(end, at)));
        is_last
            && is_zero(after)
            && is_single
            && counts
                .iter()
                .all(|count| is_right(*count, 0xffff, self.count))
            && is_right(u32_at(end, 12).into(), u32::MAX.into(), self.len)
            && is_right(u32_at(end, 16).into(), u32::MAX.into(), self.start)
            && large.is_none_or(|large| self.is_stated_by_large(large))
    }

    fn is_stated_by_large(&self, records: &[u8]) -> bool {
        let (record, locator) = records.split_at(56);
        let numbers = [self.count, self.count, self.len, self.start];
        u64_at(record, 4) == 44
            && u32_at(record, 16) == 0
            && u32_at(record, 20) == 0
            && numbers.map(u64::to_le_bytes).concat() == record[24..]
            && u32_at(locator, 4) == 0
            && u64_at(locator, 8) == self.start + self.len
            && u32_at(locator, 16) == 1
    }
}

/// Whether `records`, those before the end, are the ones of a zip64.
pub(super) fn is_large(records: &[u8]) -> bool {
    records.len() as u64 == LARGE_END
        && records.starts_with(b"PK\x06\x06")
        && records[56..].starts_with(b"PK\x06\x07")
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(*record[at..].first_chunk().expect("within the record"))
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*record[at..].first_chunk().expect("within the record"))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*record[at..].first_chunk().expect("within the record"))
}
