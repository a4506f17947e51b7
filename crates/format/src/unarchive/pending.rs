//! What the headers before an entry say of it: the records of pax, and the long names of GNU tar.
//!
//! A key that is not in the list here is a doubt, because some programs may obey it.

use super::{
    grammar::{Dialect, Doubt, FORM, KEY, ORDER, require},
    pax::{self, decimal},
    sparse::{self, Sparse},
};

/// The keys that decide which files are written.
const DECISIVE: usize = 3;
/// The keys that programs write. Those after the decisive ones have no meaning for the files that are written: times, owners,
/// notes of the writer.
const KEYS: [&[u8]; 17] = [
    b"path",
    b"linkpath",
    b"size",
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
/// How the names of file attributes begin that change nothing: those of users, and what macOS notes about the origin of a file.
const ATTRIBUTES: [&[u8]; 3] = [b"user.", b"com.apple.provenance", b"com.apple.quarantine"];

/// What the headers since the last entry say of the next one.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) sparse: Option<Sparse>,
    /// Why programs may understand them differently.
    pub(super) doubt: Doubt,
    /// The dialect of these headers, if there are any.
    pub(super) dialect: Option<Dialect>,
    /// Which of the keys occurred.
    seen: u32,
}

impl Pending {
    /// Takes the `body` of a header of type `flag`, or says how it is malformed. A doubt about a header for all entries is one
    /// about the first of them.
    pub(super) fn add(&mut self, flag: u8, body: &[u8]) -> Result<(), &'static str> {
        if matches!(flag, b'L' | b'K') {
            self.add_name(flag, body);
            return Ok(());
        }
        self.require(self.dialect.is_none(), ORDER);
        let mut is_decisive = false;
        for record in pax::records(body) {
            let (key, value) = record.ok_or("a record of an extended header is malformed")?;
            is_decisive |= KEYS[..DECISIVE].contains(&key) || key.starts_with(sparse::PREFIX);
            self.require(!key.contains(&0), FORM);
            if flag == b'x' {
                self.add_record(key, value)?;
            } else {
                let is_known = KEYS[DECISIVE..].contains(&key) || key == b"GNU.volume.label";
                self.require(is_known || is_free(key), KEY);
            }
        }
        // Some programs ignore all of a header with a NUL.
        self.require(!is_decisive || !body.contains(&0), FORM);
        if flag == b'x' {
            self.dialect = Some(Dialect::Ustar);
        }
        Ok(())
    }

    /// Takes a name, or the target of a link, that does not fit into the header after it.
    fn add_name(&mut self, flag: u8, body: &[u8]) {
        let len = body.iter().position(|byte| *byte == 0);
        self.require(
            len.is_some_and(|len| len > 0 && len + 1 == body.len()),
            FORM,
        );
        let name = body[..len.unwrap_or(body.len())].to_vec();
        let place = match flag {
            b'K' => &mut self.link,
            _ => &mut self.path,
        };
        let is_first = place.replace(name).is_none();
        let dialect = self.dialect.replace(Dialect::Gnu);
        self.require(is_first && dialect != Some(Dialect::Ustar), ORDER);
    }

    fn add_record(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if let Some(key) = key.strip_prefix(sparse::PREFIX) {
            self.sparse.get_or_insert_default().add(key, value);
            return Ok(());
        }
        // Some programs begin another record after each line. git itself writes names that have lines.
        let is_name = matches!(key, b"path" | b"linkpath");
        let has_line = key.contains(&b'\n') || value.contains(&b'\n');
        self.require(is_name || !has_line, FORM);
        let at = KEYS.iter().position(|known| *known == key);
        let bit = at.map_or(0, |at| 1 << at);
        self.require(at.is_some() || is_free(key), KEY);
        self.require(self.seen & bit == 0, ORDER);
        self.seen |= bit;
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(decimal(value).ok_or("a size is no number")?),
            _ => return Ok(()),
        }
        self.require(!value.is_empty(), FORM);
        Ok(())
    }

    fn require(&mut self, is_right: bool, reason: &'static str) {
        require(&mut self.doubt, is_right, reason);
    }
}

/// Whether a key has no meaning for the files that are written.
fn is_free(key: &[u8]) -> bool {
    let attribute = key
        .strip_prefix(b"SCHILY.xattr.")
        .or_else(|| key.strip_prefix(b"LIBARCHIVE.xattr."));
    match attribute {
        Some(name) => ATTRIBUTES.iter().any(|free| name.starts_with(free)),
        None => key.starts_with(b"GITSLUICE."),
    }
}
