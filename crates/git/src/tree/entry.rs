//! The entries of a tree object (git's `tree-walk.c`). Own code, since gix folds modes that git tells apart.

use bstr::ByteSlice;
use gix_hash::{Kind as HashKind, ObjectId};

/// One entry: `<mode> <name>\0<id>`.
pub(super) struct TreeEntry<'a> {
    pub(super) mode: Mode,
    pub(super) name: &'a [u8],
    pub(super) id: &'a [u8],
    /// The length of the entry in bytes.
    pub(super) len: usize,
}

impl<'a> TreeEntry<'a> {
    /// Parse the entry at the start of `tree`, or return git's message about the fault.
    pub(super) fn parse(tree: &'a [u8], hash: HashKind) -> Result<Self, &'static str> {
        let id_len = hash.len_in_bytes();
        if tree.len() < id_len + 3 || tree[tree.len() - id_len - 1] != 0 {
            return Err("too-short tree object");
        }
        let digits = tree
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'7'))
            .count();
        if digits == 0 || tree.get(digits) != Some(&b' ') {
            return Err("malformed mode in tree entry");
        }
        let bits = tree[..digits]
            .iter()
            .fold(0_u32, |mode, byte| (mode << 3) | u32::from(byte - b'0'));
        let name = &tree[digits + 1..];
        let end = name.find_byte(0).ok_or("too-short tree object")?;
        if end == 0 {
            return Err("empty filename in tree entry");
        }
        let id = name
            .get(end + 1..end + 1 + id_len)
            .ok_or("too-short tree file")?;
        Ok(Self {
            mode: mode(bits),
            name: &name[..end],
            id,
            len: digits + 1 + end + 1 + id_len,
        })
    }
}

/// The entries of `tree` from byte `start` up to the first malformed one, each with its offset.
pub(super) fn entries(
    tree: &[u8],
    start: usize,
    hash: HashKind,
) -> impl Iterator<Item = (usize, TreeEntry<'_>)> {
    let mut next = start;
    std::iter::from_fn(move || {
        let entry = TreeEntry::parse(tree.get(next..)?, hash).ok()?;
        let at = next;
        next += entry.len;
        Some((at, entry))
    })
}

/// The id and mode of the entry `name` of `tree`.
pub(super) fn find(tree: &[u8], hash: HashKind, name: &[u8]) -> Option<(ObjectId, Mode)> {
    let (_, entry) = entries(tree, 0, hash).find(|(_, entry)| entry.name == name)?;
    Some((ObjectId::from_bytes_or_panic(entry.id), entry.mode))
}

/// The meaning of a tree entry's mode bits, as git reads them: any other type is a submodule.
fn mode(bits: u32) -> Mode {
    match bits & 0o170_000 {
        0o100_000 if bits & 0o100 != 0 => Mode::Executable,
        0o100_000 => Mode::File,
        0o120_000 => Mode::Symlink,
        0o040_000 => Mode::Directory,
        _ => Mode::Submodule,
    }
}

/// The type of an entry in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A regular file.
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link.
    Symlink,
    /// A commit of another repository, or an unknown type.
    Submodule,
    /// A tree.
    Directory,
}

impl Mode {
    /// Whether the entry is a directory on disk, as a submodule is, too.
    pub fn is_directory(self) -> bool {
        matches!(self, Self::Submodule | Self::Directory)
    }

    /// The mode that git writes into trees.
    pub fn bits(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Symlink => 0o120_000,
            Self::Submodule => 0o160_000,
            Self::Directory => 0o040_000,
        }
    }
}
