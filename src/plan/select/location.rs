//! Where in the tree a pathspec looks: its path, joined to the current directory as text.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use gix::bstr::{BStr, BString, ByteSlice};

/// A path from the root of the tree.
pub(super) struct Location {
    /// Without slash at its end.
    pub(super) path: BString,
    /// It ended in a slash.
    pub(super) only_directory: bool,
    /// How much of it is from the current directory.
    pub(super) prefix_len: usize,
}

impl Location {
    /// The path that was given as `path` in the directory `cwd` of the work tree at `root` (`cwd` is
    /// empty or ends in a slash). Nothing if it leaves the root.
    pub(super) fn of(path: &BStr, cwd: &BStr, root: &str) -> Option<Self> {
        match path.starts_with(b"/") {
            true => Self::joined(b"".as_bstr(), below(root, path)?),
            false => Self::joined(cwd, path),
        }
    }

    /// What git takes from the top without a further look.
    pub(super) fn from_top(path: &BStr) -> Self {
        let bare = path.strip_suffix(b"/").filter(|bare| !bare.is_empty());
        Self {
            path: bare.unwrap_or(path).into(),
            only_directory: bare.is_some(),
            prefix_len: 0,
        }
    }

    /// Join `path` to `cwd` and resolve `.`, `..` and doubled slashes as text.
    fn joined(cwd: &BStr, path: &BStr) -> Option<Self> {
        let odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        if !path.split_str("/").any(odd) {
            return Some(Self {
                path: [cwd.as_bytes(), path].concat().into(),
                only_directory: false,
                prefix_len: cwd.len(),
            });
        }
        let mut parts: Vec<&[u8]> = cwd.split_str("/").filter(|part| !part.is_empty()).collect();
        let mut from_cwd = parts.len();
        for part in path.split_str("/") {
            match part {
                b"" | b"." => {}
                b".." => {
                    parts.pop()?;
                    from_cwd = from_cwd.min(parts.len());
                }
                _ => parts.push(part),
            }
        }
        let prefix_len: usize = parts[..from_cwd].iter().map(|part| part.len() + 1).sum();
        let joined: BString = parts.join(&b'/').into();
        Some(Self {
            prefix_len: prefix_len.min(joined.len()),
            only_directory: path.ends_with(b"/") && !joined.is_empty(),
            path: joined,
        })
    }
}

/// What is left of an absolute `path` inside of the work tree at `root`, perhaps through symbolic
/// links.
fn below<'a>(root: &str, path: &'a BStr) -> Option<&'a BStr> {
    let rest = match path.strip_prefix(root.as_bytes()) {
        Some(rest @ ([] | [b'/', ..])) => rest,
        _ => {
            let ends = path.find_iter(b"/").skip(1).chain([path.len()]);
            let is_root = |end: &usize| {
                let above = Path::new(OsStr::from_bytes(&path[..*end]));
                above.canonicalize().is_ok_and(|above| above == *root)
            };
            let end = ends.into_iter().find(is_root)?;
            &path[end..]
        }
    };
    Some(rest.trim_start_with(|c| c == '/').as_bstr())
}
