//! From entries to archive bytes. Knows nothing of git: it takes names, kinds, ids and bytes.
//!
//! An entry's bytes do not depend on those around it, so that many threads can make them at once.
//! Same input, same bytes.

pub mod tar;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A regular file that may be run.
    Executable,
    /// A symbolic link; its content is the target.
    Symlink,
    /// A directory; its name ends in a slash.
    Directory,
}

/// An entry without its content.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its full name in the archive, in raw bytes.
    pub name: &'a [u8],
    /// What it is.
    pub kind: Kind,
    /// Its object id, in binary; stands in where the name does not fit.
    pub id: &'a [u8],
}

impl Member<'_> {
    /// The object id in hexadecimal.
    fn hex_id(&self) -> String {
        self.id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
