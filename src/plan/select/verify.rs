//! Which paths may be in a tree at all.
//!
//! The rules of a git checkout: nothing named `.`, `..` or `.git`, in any spelling that some file
//! system takes for it, no symbolic link named `.gitmodules`. A slash inside of a tree entry's name
//! separates components like any other, so no name leaves the directory it is extracted to.

use gix::{
    bstr::ByteSlice,
    validate::path::{
        component,
        component::{Mode, Options},
    },
};

/// Which file systems' spellings are guarded against.
#[derive(Clone, Copy, Debug)]
pub struct Protect {
    /// `core.protectHFS`
    pub hfs: bool,
    /// `core.protectNTFS`
    pub ntfs: bool,
}

/// Whether git would check out an entry with this `name`. Without rules for that, whether it stays
/// inside of the directory that it is extracted to.
pub fn is_valid(name: &[u8], is_symlink: bool, protect: Option<Protect>) -> bool {
    let Some(protect) = protect else {
        let leads_out = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        return !split(name, b'/').any(leads_out);
    };
    let options = Options {
        protect_windows: false,
        protect_hfs: protect.hfs,
        protect_ntfs: protect.ntfs,
    };
    let mode = is_symlink.then_some(Mode::Symlink);
    let allowed = |part: &[u8]| component(part.as_bstr(), mode, options).is_ok();
    // To NTFS a backslash separates as well; between two of them git looks for `.git` alone.
    let between = |part: &[u8]| matches!(part, b"" | b"." | b"..") || allowed(part);
    let splits = protect.ntfs && name.contains(&b'\\');
    let on_ntfs = |part: &[u8]| !splits || split(part, b'\\').all(between);
    split(name, b'/').all(|part| allowed(part) && on_ntfs(part))
}

/// Names are short: preparing a search would take longer than to search.
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
        ] {
            assert!(!is_valid(name.as_bytes(), false, protect), "{name:?}");
        }
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
}
