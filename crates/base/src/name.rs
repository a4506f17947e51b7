//! Decides which paths may be in a tree.
//!
//! The rules are those of a git checkout: no name `.`, `..` or `.git`, in any spelling that a file system
//! takes for one, and no symbolic link named `.gitmodules`. A slash within a tree entry's name separates
//! components, so no name leads out of the directory of the extraction.

use bstr::ByteSlice;
use gix_validate::path::{
    component,
    component::{Mode, Options},
};

/// The file systems whose spellings are refused.
#[derive(Clone, Copy, Debug)]
pub struct Protect {
    /// `core.protectHFS`
    pub hfs: bool,
    /// `core.protectNTFS`
    pub ntfs: bool,
}

/// Whether git would check out an entry with this `name`. Without `protect`, whether the name stays inside
/// the directory of the extraction.
pub fn is_valid(name: &[u8], is_symlink: bool, protect: Option<Protect>) -> bool {
    let Some(protect) = protect else {
        let leads_out = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        return !split(name, b'/').any(leads_out);
    };
    let mode = is_symlink.then_some(Mode::Symlink);
    let accepted = |part: &[u8], hfs, ntfs| {
        let options = Options {
            protect_windows: false,
            protect_hfs: hfs,
            protect_ntfs: ntfs,
        };
        component(part.as_bstr(), mode, options).is_ok()
    };
    // In a piece of a name, git refuses only the spellings of `.git` and `.gitmodules`.
    let is_relative = |piece: &[u8]| matches!(piece, b"" | b"." | b"..");
    let splits = protect.ntfs && name.contains(&b'\\');
    let on_ntfs = |piece: &[u8]| is_relative(piece) || accepted(piece, false, true);
    let on_hfs = |piece: &[u8]| is_relative(piece) || accepted(piece, true, false);
    split(name, b'/').all(|part| {
        // A part in ASCII is well-formed, and was looked at whole.
        accepted(part, protect.hfs, protect.ntfs)
            && (!protect.hfs || part.is_ascii() || on_hfs(well_formed(part)))
            && (!splits || between_backslashes(part).all(on_ntfs))
    })
}

/// The pieces of a name that NTFS takes for separate names, as git finds them: git skips the piece after a
/// backslash at the beginning.
fn between_backslashes(part: &[u8]) -> impl Iterator<Item = &[u8]> {
    let begins = part.starts_with(b"\\");
    split(part, b'\\').skip(if begins { 2 } else { 0 })
}

/// The name up to its first invalid byte or noncharacter, where the name ends for git's check for HFS+.
fn well_formed(part: &[u8]) -> &[u8] {
    let text = part.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let end = text.find(['\u{fffe}', '\u{ffff}']);
    &part[..end.unwrap_or(text.len())]
}

/// Split a short name. Preparing a faster search would take longer than this one.
fn split(name: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    name.split(move |byte| *byte == separator)
}

#[cfg(test)]
mod tests {
    use super::{Protect, is_valid};

    #[test]
    fn what_git_refuses_is_refused() {
        let protect = Some(Protect {
            hfs: true,
            ntfs: true,
        });
        for name in [
            "",
            ".",
            "..",
            ".git",
            ".GIT",
            ".git ",
            ".git...",
            "git~1",
            ".git::$INDEX_ALLOCATION",
            "a/../b",
            "/abs",
            "a//b",
            "a/",
            "a\\.git",
            ".git\\x",
            ".g\u{200c}it",
            ".git\u{ffff}x",
            "a\\b\\GIT~1",
        ] {
            assert!(!is_valid(name.as_bytes(), false, protect), "{name:?}");
        }
        assert!(!is_valid(b".git\xff", false, protect));
        assert!(!is_valid(b".gitmodules", true, protect));
    }

    #[test]
    fn without_rules_no_name_leads_out() {
        for name in ["", "..", "a/../b", "/abs", "a//b", "."] {
            assert!(!is_valid(name.as_bytes(), false, None), "{name:?}");
        }
        for name in [".git", "git~1", "a/b", "...", ".gitmodules"] {
            assert!(is_valid(name.as_bytes(), true, None), "{name:?}");
        }
    }

    #[test]
    fn odd_names_pass() {
        let protect = Some(Protect {
            hfs: false,
            ntfs: true,
        });
        for name in [
            "a/b", "a\\b", "a\nb", "...", ".gitx", "con", "aux.txt", "a:b", " ", "\u{ff}",
        ] {
            assert!(is_valid(name.as_bytes(), false, protect), "{name:?}");
        }
        assert!(is_valid(b".gitmodules", false, protect));
        assert!(is_valid(b"\xff\xfe", false, protect));
    }

    /// Names that git accepts although parts of them look like `.git`.
    #[test]
    fn what_only_looks_like_git_passes() {
        let protect = Some(Protect {
            hfs: true,
            ntfs: true,
        });
        for name in [
            &b"\\.git"[..],
            b"a\\.g\xe2\x80\x8cit",
            b"git~2",
            b"git~1\xff",
            b"\xff.git",
        ] {
            assert!(is_valid(name, false, protect), "{}", name.escape_ascii());
        }
    }
}
