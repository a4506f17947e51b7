//! Resolves a pathspec's path against the current directory, as text.

use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice};
use rustix::io::Errno;

use sluice_base::error::{Error, Result, format_bytes, strerror};

/// The directory that pathspecs may not leave.
#[derive(Clone, Copy, Debug)]
pub struct Top<'a> {
    /// The directory's path, for messages.
    pub path: &'a BStr,
    /// Whether the directory is the top of a work tree. Only a work tree can contain absolute pathspecs.
    pub is_work_tree: bool,
}

/// A path from the root of the tree.
pub(super) struct Location {
    /// The path without slash at its end.
    pub(super) path: BString,
    /// The given path ended in a slash.
    pub(super) only_directory: bool,
    /// The length of the part that comes from the current directory, with the slash at its end.
    pub(super) prefix_len: usize,
}

impl Location {
    /// Resolve `path`, given in the directory `cwd` of the work tree at `top` (`cwd` is empty or ends in a
    /// slash). `None` if the path leaves the top.
    pub(super) fn of(path: &BStr, cwd: &BStr, top: Top<'_>) -> Result<Option<Self>> {
        Ok(if !path.starts_with(b"/") {
            Self::joined(cwd, path)
        } else if top.is_work_tree {
            below(top.path, path)?.and_then(|path| Self::joined(b"".as_bstr(), path))
        } else {
            None
        })
    }

    /// Take `path` from the top as it is, as git does for `:(top)` and `:(prefix:0)`.
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
        // As in git, the slash stays in front of a last part that goes away.
        let ends_in_directory = path.rsplit_str("/").next().is_some_and(odd);
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
            prefix_len,
            only_directory: ends_in_directory && !joined.is_empty(),
            path: joined,
        })
    }
}

/// The path from the root of the tree to `path` in the directory `cwd` (empty, or with a slash at its end).
/// A leading slash means the root. `None` if the path leaves the root.
pub fn from_root(path: &BStr, cwd: &BStr) -> Option<BString> {
    let directory = if path.starts_with(b"/") {
        BStr::new("")
    } else {
        cwd
    };
    Location::joined(directory, path).map(|location| location.path)
}

/// The part of an absolute `path` below the work tree at `root`, perhaps through symbolic links. As in git,
/// all directories on the path have to exist unless the path starts with the name of `root`.
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

/// The failure to resolve `path`.
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
    Error::fatal(format_bytes("Invalid path '{}': {}", &values))
}
