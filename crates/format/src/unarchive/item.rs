//! What an archive consists of, whatever its format: entries, doubts, a comment.

use std::io::Read;

use sluice_base::error::Result;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// Another name of an earlier file of the archive.
    HardLink,
    /// A directory.
    Directory,
    /// A device, a pipe, or an unknown type.
    Special,
}

/// An entry without its content.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The path as stated.
    pub path: &'a [u8],
    /// What the entry is.
    pub kind: Kind,
    /// The permissions, with the setuid, setgid and sticky bits.
    pub mode: u32,
    /// The size of the content in bytes.
    pub size: u64,
    /// The target of a link.
    pub link: &'a [u8],
    /// The fields of a tar.
    pub header: Option<&'a ::tar::Header>,
}

/// Takes what is in an archive, in the order of the archive.
pub trait Visitor {
    /// Takes an entry. `content` has the bytes of a file, and need not be read to its end.
    fn entry(&mut self, item: &Item<'_>, content: &mut dyn Read) -> Result<()>;

    /// Takes a reason why readers of the archive may disagree, about the entry at `path` or, if it is empty, about the archive.
    fn doubt(&mut self, _path: &[u8], _reason: &'static str) -> Result<()> {
        Ok(())
    }

    /// Takes the comment of the archive.
    fn comment(&mut self, _comment: &[u8]) {}

    /// Takes the commit whose changes the archive has, as the archive states it.
    fn base(&mut self, _base: &[u8]) {}

    /// Takes the next bytes of a tar that are not the content of a file.
    fn frame(&mut self, _bytes: &[u8]) {}
}
