//! Reads a directory as if it were an archive. Links are not followed, and of `.git` at the top only the directory is an entry.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use super::item::{Item, Kind, Visitor};
use sluice_base::error::{Error, Result, format_bytes, strerror};

/// Reads all that is below the directory `top`.
pub(super) fn read(top: &Path, visitor: &mut dyn Visitor) -> Result<()> {
    let mut entries = WalkDir::new(top).min_depth(1).into_iter();
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|error| {
            let cause = error.io_error().expect("links are not followed");
            failed(error.path().unwrap_or(top), cause)
        })?;
        let below = entry.path().strip_prefix(top).unwrap_or(entry.path());
        read_entry(entry.path(), below, visitor)?;
        // A repository is no part of what it holds, but it must not go unnoticed.
        if below == Path::new(".git") && entry.file_type().is_dir() {
            entries.skip_current_dir();
        }
    }
    Ok(())
}

fn read_entry(path: &Path, below: &Path, visitor: &mut dyn Visitor) -> Result<()> {
    let failed = |error: io::Error| failed(path, &error);
    let metadata = path.symlink_metadata().map_err(failed)?;
    let mut target = PathBuf::new();
    let mut content: Box<dyn Read> = Box::new(io::empty());
    let kind = if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_symlink() {
        target = fs::read_link(path).map_err(failed)?;
        Kind::Symlink
    } else if metadata.is_file() {
        content = Box::new(open(path).map_err(failed)?.take(metadata.len()));
        Kind::File
    } else {
        Kind::Special
    };
    let item = Item {
        path: below.as_os_str().as_bytes(),
        kind,
        mode: metadata.permissions().mode() & 0o7777,
        size: if kind == Kind::File {
            metadata.len()
        } else {
            0
        },
        link: target.as_os_str().as_bytes(),
        header: None,
    };
    visitor.entry(&item, &mut content)
}

/// Opens the file at `path`, unless it has become a link since it was looked at.
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let path = path.as_os_str().as_bytes();
    Error::fatal(format_bytes("cannot read '{}'", &[path])).caused_by(strerror(error))
}
