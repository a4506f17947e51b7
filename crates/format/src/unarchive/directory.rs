//! Reads a directory as if it were an archive. Links are not followed, and of `.git` at the top only the directory is an entry.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use super::{
    damage::damaged,
    item::{Item, Kind, Visitor},
};
use sluice_base::error::{Error, Result, format_bytes, strerror};

/// Reads all that is below the directory `top`.
pub(super) fn read(top: &Path, visitor: &mut dyn Visitor) -> Result<()> {
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| failed(&directory, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| failed(&directory, &error))?.path();
            let below = path.strip_prefix(top).unwrap_or(&path);
            let metadata = path
                .symlink_metadata()
                .map_err(|error| failed(&path, &error))?;
            read_entry((&path, below), &metadata, visitor)?;
            // A repository is no part of what it holds, but it must not go unnoticed.
            if metadata.is_dir() && below != Path::new(".git") {
                directories.push(path);
            }
        }
    }
    Ok(())
}

fn read_entry(
    (path, below): (&Path, &Path),
    metadata: &Metadata,
    visitor: &mut dyn Visitor,
) -> Result<()> {
    let mut item = Item {
        path: below.as_os_str().as_bytes(),
        kind: Kind::Special,
        mode: metadata.permissions().mode() & 0o7777,
        size: 0,
        link: b"",
        header: None,
    };
    if metadata.is_dir() {
        item.kind = Kind::Directory;
    } else if metadata.is_symlink() {
        let target = fs::read_link(path).map_err(|error| failed(path, &error))?;
        item.kind = Kind::Symlink;
        item.link = target.as_os_str().as_bytes();
        return visitor.entry(&item, &mut io::empty());
    } else if metadata.is_file() {
        let file = open(path).map_err(|error| failed(path, &error))?;
        item.kind = Kind::File;
        item.size = metadata.len();
        return visitor.entry(&item, &mut Exactly(file, metadata.len()));
    }
    visitor.entry(&item, &mut io::empty())
}

/// Opens the file at `path`, unless it has become a link since it was looked at.
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// A file of which as many bytes are read as its metadata says.
struct Exactly(File, u64);

impl Read for Exactly {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(self.1.try_into().unwrap_or(usize::MAX));
        let read = self.0.read(&mut out[..most])?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.1 -= read as u64;
        Ok(read)
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let path = path.as_os_str().as_bytes();
    match error.raw_os_error() {
        Some(_) => {
            Error::fatal(format_bytes("cannot read '{}'", &[path])).caused_by(strerror(error))
        }
        None => damaged(error.to_string()),
    }
}
