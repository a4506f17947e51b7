//! The records of pax headers (pax(1), "pax Interchange Format"): `<len> <key>=<value>\n`.
//!
//! All records are returned in their order, including repeated keys. A false length never leads outside the header. A key that
//! is not in the lists here is a doubt, because some programs may obey it.

use super::{
    grammar::{FORM, KEY, ORDER},
    sparse::Records as SparseRecords,
};

pub(super) const MALFORMED: &str = "a record of an extended header is malformed";
/// Keys without a meaning for the files that are written, beside [`OWN`]: times, owners, notes of the writer.
const FREE: [&[u8]; 14] = [
    b"comment",
    b"atime",
    b"ctime",
    b"mtime",
    b"uid",
    b"gid",
    b"uname",
    b"gname",
    b"LIBARCHIVE.creationtime",
    b"SCHILY.dev",
    b"SCHILY.fflags",
    b"SCHILY.ino",
    b"SCHILY.nlink",
    b"hdrcharset",
];
/// The prefix of the keys of git-sluice.
const OWN: &[u8] = b"GITSLUICE.";

/// Key and value.
pub type PaxRecord<'a> = (&'a [u8], &'a [u8]);

/// The records of one header. A malformed record is `None`, after which the iteration must stop.
pub fn records(header: &[u8]) -> impl Iterator<Item = Option<PaxRecord<'_>>> {
    let mut rest = header;
    std::iter::from_fn(move || (!rest.is_empty()).then(|| split(&mut rest)))
}

/// Take the first record off `rest`.
fn split<'a>(rest: &mut &'a [u8]) -> Option<PaxRecord<'a>> {
    // Some programs read a number that begins with a zero as octal.
    if rest[0] == b'0' {
        return None;
    }
    let space = rest.iter().position(|&byte| byte == b' ')?;
    let len = usize::try_from(decimal(&rest[..space])?).ok()?;
    let record = rest.get(space + 1..len)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|&byte| byte == b'=')?;
    *rest = &rest[len..];
    (equals > 0).then(|| (&record[..equals], &record[equals + 1..]))
}

/// Parse a number that consists of digits only.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Says whether the records of a header for all entries are in the grammar: a comment, the label of GNU tar, and our own.
pub(super) fn doubt_of_global(header: &[u8]) -> Option<&'static str> {
    let is_known =
        |key: &[u8]| matches!(key, b"comment" | b"GNU.volume.label") || key.starts_with(OWN);
    let mut keys = records(header).flatten().map(|(key, _)| key);
    keys.any(|key| !is_known(key)).then_some(KEY)
}

/// What the records of a header say of the entry after it.
#[derive(Default)]
pub(super) struct Extended {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) sparse: Option<SparseRecords>,
    /// Why programs may understand the records differently.
    pub(super) doubt: Option<&'static str>,
    /// Which of the free keys occurred.
    seen: u32,
}

impl Extended {
    /// Reads the records of `header`, or says how they are malformed.
    pub(super) fn read(header: &[u8]) -> Result<Self, &'static str> {
        let mut extended = Self::default();
        for record in records(header) {
            let (key, value) = record.ok_or(MALFORMED)?;
            extended.add(key, value)?;
        }
        Ok(extended)
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let number = || decimal(value).ok_or("a size is no number");
        let is_again = match key {
            b"path" => self.path.replace(value.to_vec()).is_some(),
            b"linkpath" => self.link.replace(value.to_vec()).is_some(),
            b"size" => self.size.replace(number()?).is_some(),
            _ => return self.add_other(key, value),
        };
        if is_again {
            self.doubt = Some(ORDER);
        } else if value.is_empty() || value.contains(&0) {
            self.doubt = Some(FORM);
        }
        Ok(())
    }

    fn add_other(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if let Some(key) = key.strip_prefix(b"GNU.sparse.") {
            return self.sparse.get_or_insert_default().add(key, value);
        }
        match FREE.iter().position(|free| *free == key) {
            Some(at) if self.seen & 1 << at == 0 => self.seen |= 1 << at,
            Some(_) => self.doubt = Some(ORDER),
            None if key.starts_with(OWN) => {}
            None => self.doubt = Some(KEY),
        }
        Ok(())
    }
}
