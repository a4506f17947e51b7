//! The directory and the operations on it.
//!
//! Every operation is on one name in an open directory. Each directory on the way is opened name by name
//! from one handle, and no symbolic link is followed, whoever created it. A file is always created anew, so
//! nothing is written through a symbolic or hard link. Permissions are those of the archive, less the
//! user's umask. The module knows nothing of archives.

use std::{
    ffi::OsStr,
    fs::{self, TryLockError},
    io::{self, ErrorKind},
    os::unix::{ffi::OsStrExt, fs::DirBuilderExt as _},
};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, File, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags};

use crate::{
    error::{Error, Result, filled, strerror},
    process::directory::NamedFile,
};

use super::{path::ArchivePath, state};

/// The permissions of directories without an entry in the archive, as git creates them.
const DIRECTORY_MODE: u32 = 0o775;

/// A directory, and the directory below it in which the last operation was.
pub(super) struct Tree {
    root: Dir,
    /// The same directory for operations without a path. Holds the lock.
    handle: fs::File,
    /// The path of `here`. Empty for the root, where `here` is `None`.
    at: Vec<u8>,
    here: Option<Dir>,
}

/// The outcome of entering a directory.
enum Way {
    There,
    /// A directory on the way does not exist.
    Missing,
    /// The path of a name on the way that is no directory.
    Blocked(Vec<u8>),
}

impl Drop for Tree {
    /// Unlock the directory. Closing it is not enough: a process that another thread starts at this moment
    /// holds a copy of the handle until it executes its program.
    fn drop(&mut self) {
        let _ = self.handle.unlock();
    }
}

impl Tree {
    /// Open and lock the directory, which is created first if it is `new`.
    pub(super) fn open(directory: &NamedFile, new: bool) -> Result<Self> {
        let NamedFile { name, path } = directory;
        let failed = |error: io::Error| {
            let why = strerror(&error);
            let values = [name.as_os_str().as_bytes(), why.as_bytes()];
            Error::fatal(filled("cannot open directory '{}': {}", &values))
        };
        if new
            && let Err(error) = fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path)
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(failed(error));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty());
        let handle = fs::File::from(handle.map_err(|error| failed(error.into()))?);
        // A file system without locks is accepted; only this protection is lost.
        if let Err(TryLockError::WouldBlock) = handle.try_lock() {
            let name = name.as_os_str().as_bytes();
            let refused = filled("another archive is being applied to '{}'", &[name]);
            return Err(Error::fatal(refused));
        }
        Ok(Self {
            root: Dir::from_std_file(handle.try_clone().map_err(failed)?),
            handle,
            at: Vec::new(),
            here: None,
        })
    }

    pub(super) fn root(&self) -> &Dir {
        &self.root
    }

    /// Whether the directory holds nothing but the state file.
    pub(super) fn is_bare(&self) -> Result<bool> {
        let failed = |error| failed("read", b".", error);
        for entry in self.root.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if !state::is_own(name.as_bytes()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Flush all changes to the disk.
    pub(super) fn sync(&self) -> Result<()> {
        rustix::fs::syncfs(&self.handle).map_err(|error| failed("write", b".", error.into()))
    }

    /// Delete a file, a symbolic link or an empty directory. A missing path counts as deleted. An obstacle
    /// of another type stays, and its path is returned.
    pub(super) fn delete(&mut self, path: &ArchivePath<'_>) -> Result<Option<Vec<u8>>> {
        let (parent, name) = path.split();
        let name = OsStr::from_bytes(name);
        match self.enter(parent, false)? {
            Way::Missing => return Ok(None),
            Way::Blocked(at) => return Ok(Some(at)),
            Way::There => {}
        }
        let removed = match path.is_directory() {
            true => self.here().remove_dir(name),
            false => self.here().remove_file(name),
        };
        match removed {
            Err(error) => match error.kind() {
                ErrorKind::NotFound => Ok(None),
                ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
                    Ok(Some(path.bytes().to_vec()))
                }
                _ => Err(failed("delete", path.bytes(), error)),
            },
            Ok(()) => Ok(None),
        }
    }

    /// Delete a path with everything below it. Returns an obstacle like [`Self::delete`].
    pub(super) fn delete_all(&mut self, path: &ArchivePath<'_>) -> Result<Option<Vec<u8>>> {
        let obstacle = self.delete(path)?;
        if obstacle.as_deref() != Some(path.bytes()) {
            return Ok(obstacle);
        }
        let removed = self
            .here()
            .remove_dir_all(OsStr::from_bytes(path.split().1));
        removed.map_err(|error| failed("delete", path.bytes(), error))?;
        Ok(None)
    }

    /// Create a directory, unless it exists. The user can always enter it and write to it.
    pub(super) fn make_directory(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<()> {
        let name = self.prepare(path)?;
        match create_directory(self.here(), name, mode | 0o700) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && self.is_directory(name) => {
                Ok(())
            }
            made => made.map_err(|error| failed("create", path.bytes(), error)),
        }
    }

    /// Create a file in place of an existing one.
    pub(super) fn create_file(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        self.place(path, |here, name| here.open_with(name, &options))
    }

    /// Create a symbolic link in place of an existing one.
    pub(super) fn create_symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        let target = OsStr::from_bytes(target);
        self.place(path, |here, name| here.symlink_contents(target, name))
    }

    fn place<T>(
        &mut self,
        path: &ArchivePath<'_>,
        make: impl Fn(&Dir, &OsStr) -> io::Result<T>,
    ) -> Result<T> {
        let name = self.prepare(path)?;
        let made = match make(self.here(), name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.clear(name).and_then(|()| make(self.here(), name))
            }
            made => made,
        };
        made.map_err(|error| failed("create", path.bytes(), error))
    }

    /// Remove a file, a symbolic link or an empty directory that is in the way.
    fn clear(&self, name: &OsStr) -> io::Result<()> {
        match self.here().remove_file(name) {
            Err(error) if error.kind() == ErrorKind::IsADirectory => self.here().remove_dir(name),
            removed => removed,
        }
    }

    /// Enter the parent of `path`, creating missing directories. Returns the name in the parent.
    fn prepare<'p>(&mut self, path: &ArchivePath<'p>) -> Result<&'p OsStr> {
        let (parent, name) = path.split();
        let name = OsStr::from_bytes(name);
        match self.enter(parent, true)? {
            Way::There => Ok(name),
            Way::Missing => Err(failed("create", path.bytes(), ErrorKind::NotFound.into())),
            Way::Blocked(at) => Err(failed("enter", &at, ErrorKind::NotADirectory.into())),
        }
    }

    /// Enter the directory `parent`, name by name.
    fn enter(&mut self, parent: &[u8], make: bool) -> Result<Way> {
        if !is_below(parent, &self.at) {
            self.at.clear();
            self.here = None;
        }
        while self.at.len() < parent.len() {
            let start = self.at.len() + usize::from(!self.at.is_empty());
            let len = parent[start..].iter().position(|&byte| byte == b'/');
            let end = len.map_or(parent.len(), |len| start + len);
            let name = OsStr::from_bytes(&parent[start..end]);
            let path = &parent[..end];
            let next = match self.here().open_dir_nofollow(name) {
                Err(error) if error.kind() == ErrorKind::NotFound && make => {
                    create_directory(self.here(), name, DIRECTORY_MODE)
                        .and_then(|()| self.here().open_dir_nofollow(name))
                }
                opened => opened,
            };
            match next {
                Ok(next) => {
                    self.here = Some(next);
                    self.at = path.to_vec();
                }
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Way::Missing),
                Err(error) if self.is_directory(name) => return Err(failed("enter", path, error)),
                Err(_) => return Ok(Way::Blocked(path.to_vec())),
            }
        }
        Ok(Way::There)
    }

    fn here(&self) -> &Dir {
        self.here.as_ref().unwrap_or(&self.root)
    }

    /// Whether `name` is a directory, and no link to one.
    fn is_directory(&self, name: &OsStr) -> bool {
        let metadata = self.here().symlink_metadata(name);
        metadata.is_ok_and(|metadata| metadata.is_dir())
    }
}

fn create_directory(parent: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    parent.create_dir_with(name, DirBuilder::new().mode(mode))
}

/// Whether `path` is `directory` or below it.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || matches!(rest, [] | [b'/', ..]))
}

/// The error of a failed operation on `path`.
pub(super) fn failed(verb: &str, path: &[u8], error: io::Error) -> Error {
    let why = strerror(&error);
    let values = [verb.as_bytes(), path, why.as_bytes()];
    Error::fatal(filled("cannot {} '{}': {}", &values))
}
