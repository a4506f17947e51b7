//! Where in the tree a pathspec looks: its path, joined to the current directory as text.

use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::io::Errno;

use crate::error::{Error, Result, filled, strerror};

/// The directory that pathspecs may not leave.
#[derive(Clone, Copy, Debug)]
pub struct Top<'a> {
    /// Its path, for messages.
    pub path: &'a BStr,
    /// Whether it is the top of a work tree, in which absolute pathspecs can be.
    pub is_work_tree: bool,
}

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
    /// The path that was given as `path` in the directory `cwd` of the work tree at `top` (`cwd` is
    /// empty or ends in a slash). Nothing if it leaves the top.
    pub(super) fn of(path: &BStr, cwd: &BStr, top: Top<'_>) -> Result<Option<Self>> {
        Ok(match path.starts_with(b"/") {
            false => Self::joined(cwd, path),
            true if !top.is_work_tree => None,
            true => below(top.path, path)?.and_then(|path| Self::joined(b"".as_bstr(), path)),
        })
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
    pub(super) fn joined(cwd: &BStr, path: &BStr) -> Option<Self> {
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

/// Where `path` of the directory `cwd` (empty, or with a slash at its end) is, seen from the root of the
/// tree; one that starts with a slash is seen from there already. Nothing if it leaves the root.
pub fn from_root(path: &BStr, cwd: &BStr) -> Option<BString> {
    let directory = if path.starts_with(b"/") {
        BStr::new("")
    } else {
        cwd
    };
    Location::joined(directory, path).map(|location| location.path)
}

/// What is left of an absolute `path` inside of the work tree at `root`, perhaps through symbolic
/// links. As in git, all directories on a path that is not below `root` by name have to exist.
fn below<'a>(root: &BStr, path: &'a BStr) -> Result<Option<&'a BStr>> {
    let inside = |rest: &'a [u8]| Some(rest.trim_start_with(|c| c == '/').as_bstr());
    if let Some(rest @ ([] | [b'/', ..])) = path.strip_prefix(root.as_bytes()) {
        return Ok(inside(rest));
    }
    let mut missing = None;
    for end in path.find_iter(b"/").skip(1).chain([path.len()]) {
        if let Some(missing) = missing {
            return Err(invalid(missing, &Errno::NOENT.into()));
        }
        let above = Path::new(OsStr::from_bytes(&path[..end]));
        match above.canonicalize() {
            Ok(above) if above.as_os_str().as_bytes() == root.as_bytes() => {
                return Ok(inside(&path[end..]));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing = Some(above),
            Err(error) => return Err(invalid(above, &error)),
        }
    }
    Ok(None)
}

/// The failure that a `path` stands for which cannot be looked at.
fn invalid(path: &Path, error: &io::Error) -> Error {
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    let resolved = parent.zip(path.file_name());
    let resolved = resolved.map_or_else(|| path.into(), |(parent, name)| parent.join(name));
    let target = resolved
        .read_link()
        .map(|target| resolved.with_file_name(target));
    let shown: PathBuf = target.unwrap_or(resolved);
    let why = strerror(error);
    let values = [shown.as_os_str().as_bytes(), why.as_bytes()];
    Error::fatal(filled("Invalid path '{}': {}", &values))
}
