//! Checks paths of an archive and interprets their names.
//!
//! The module works on bytes and reads no file system, so a path is refused independently of the directory.

use super::{input::unfit, state_files};
use sluice_base::{
    error::{Error, Result, format_bytes},
    name::{Protect, is_valid},
};

/// All file systems' spellings of `.git` are refused: the archive may have been made for another file
/// system.
const PROTECT: Option<Protect> = Some(Protect {
    hfs: true,
    ntfs: true,
});

/// The longest path of the system, with its NUL, and the longest target of a link. Longer ones cannot be checked out
/// either. The limit also bounds the depth of directories.
const LEN_MAX: usize = 4096;

/// The longest name that most file systems store, in bytes. A longer one would be noticed only when its file is created.
const NAME_MAX: usize = 255;

/// A path below the directory: names that git accepts in a tree, joined by slashes, and not the state file.
/// The directory may be a checkout; no archive reaches its `.git`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArchivePath<'a> {
    /// The path without a slash at the end.
    bytes: &'a [u8],
    is_directory: bool,
}

impl<'a> ArchivePath<'a> {
    /// Check a path of an archive. The path of a directory ends in a slash.
    pub(super) fn new(stated: &'a [u8]) -> Result<Self> {
        Self::checked(stated, false)
    }

    /// Check the path of a symbolic link. git refuses a link named `.gitmodules`, which could redirect a
    /// read to a file outside the tree.
    pub(super) fn of_symlink(stated: &'a [u8]) -> Result<Self> {
        Self::checked(stated, true)
    }

    /// A path that was checked before, of something that is no directory.
    pub(super) fn of_checked(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            is_directory: false,
        }
    }

    fn checked(stated: &'a [u8], is_symlink: bool) -> Result<Self> {
        let bytes = stated.strip_suffix(b"/").unwrap_or(stated);
        let mut names = bytes.split(|&byte| byte == b'/');
        let is_long = names.clone().any(|name| name.len() > NAME_MAX);
        let refused = if bytes.contains(&0) {
            "has a NUL in it"
        } else if bytes.len() >= LEN_MAX {
            "is too long"
        } else if is_long {
            "has a name of more than 255 bytes"
        } else if stated.starts_with(b"/") {
            "is absolute"
        } else if names.next().is_some_and(state_files::is_reserved) {
            "is where the state is kept"
        } else if !is_valid(bytes, false, PROTECT) {
            refusal(bytes)
        } else if is_symlink && !is_valid(bytes, true, PROTECT) {
            "may not be a symbolic link"
        } else {
            let is_directory = bytes.len() < stated.len();
            return Ok(Self {
                bytes,
                is_directory,
            });
        };
        let values = [&stated[..stated.len().min(LEN_MAX)], refused.as_bytes()];
        Err(unfit(format_bytes("path '{}' {}", &values)))
    }

    /// Check the `target` of the symbolic link at this path, which the system must be able to store.
    pub(super) fn check_target(&self, target: &[u8]) -> Result<()> {
        Err(self.refused(if target.is_empty() {
            "is a symbolic link without a target"
        } else if target.contains(&0) {
            "is a symbolic link whose target has a NUL in it"
        } else if target.len() >= LEN_MAX {
            "is a symbolic link whose target is too long"
        } else {
            return Ok(());
        }))
    }

    /// The error of an entry at this path that is not sound.
    pub(super) fn refused(&self, why: &str) -> Error {
        unfit(format_bytes("path '{}' {}", &[self.bytes, why.as_bytes()]))
    }

    /// Whether the path ends in a slash.
    pub(super) fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// The whole path, without a slash at the end.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The parent directory, and the name in it.
    pub(super) fn split(&self) -> (&'a [u8], &'a [u8]) {
        match self.bytes.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&self.bytes[..slash], &self.bytes[slash + 1..]),
            None => (b"", self.bytes),
        }
    }
}

/// Why a path that is not valid in a tree is refused.
fn refusal(bytes: &[u8]) -> &'static str {
    let names = || bytes.split(|&byte| byte == b'/');
    if names().any(|name| name == b"..") {
        "leads out of the directory"
    } else if names().any(|name| matches!(name, b"" | b".")) {
        "has an empty name in it"
    } else {
        "has a name that git refuses"
    }
}

/// The directories that `path` is in, from the top.
pub(super) fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::ArchivePath;

    fn accepted(path: &[u8]) -> bool {
        ArchivePath::new(path).is_ok()
    }

    #[test]
    fn paths_that_stay_below() {
        for path in [
            &b"a"[..],
            b"a/b/",
            b".gitmodules",
            b".github/config",
            b"...",
            b"..a/b..",
            b"a\\..\\b",
            b"\xff\n",
            b"a/.git-sluice",
            b".git-sluices",
            &b"a/".repeat(2048),
            &b"n".repeat(255),
        ] {
            assert!(accepted(path), "{}", path.escape_ascii());
        }
        let path = ArchivePath::new(b"a/b/").expect("accepted");
        assert_eq!(
            (path.bytes(), path.split()),
            (&b"a/b"[..], (&b"a"[..], &b"b"[..]))
        );
    }

    #[test]
    fn paths_that_do_not() {
        for path in [
            &b""[..],
            b"/",
            b"/a",
            b"//",
            b".",
            b"..",
            b"../a",
            b"a/..",
            b"a/../b",
            b"a/../",
            b"./a",
            b"a/./b",
            b"a//b",
            b"a//",
            b"a\0b",
            b".git-sluice",
            b".git-sluice/",
            b".git-sluice/a",
            b".git-sluice.new",
            b".Git-Sluice",
            b".git",
            b".git/hooks/post-checkout",
            b".GIT/config",
            b"git~1/config",
            b"sub/.git",
            b"sub/.git/",
            b".git. /config",
            b".git::$INDEX_ALLOCATION/config",
            b".g\xe2\x80\x8cit/config",
            b"a\\.git\\config",
            &b"a/".repeat(2049),
            &b"n".repeat(256),
        ] {
            assert!(!accepted(path), "{}", path.escape_ascii());
        }
    }

    #[test]
    fn gitmodules_is_a_file() {
        for path in [
            &b".gitmodules"[..],
            b"a/.GitModules",
            b"GITMOD~1",
            b".gitmodules ",
        ] {
            assert!(accepted(path), "{}", path.escape_ascii());
            assert!(
                ArchivePath::of_symlink(path).is_err(),
                "{}",
                path.escape_ascii()
            );
        }
        assert!(ArchivePath::of_symlink(b".gitattributes").is_ok());
    }
}
