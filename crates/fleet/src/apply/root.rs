//! The directory that an archive is applied to: opened, locked, flushed. The module knows nothing of archives.

use std::{
    fs::{self, Metadata, TryLockError},
    io::{self, ErrorKind},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};

use sluice_base::{
    error::{Error, Result, format_bytes, strerror},
    working_directory::NamedFile,
};

use super::{
    cursor::{Cursor, DIRECTORY_MODE, failed},
    state_files::{self, StateDirectory},
    threads,
};

/// How long an application waits for another one. One that was killed may hold the lock until its last write to the disk
/// is over.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it looks.
const PAUSE: Duration = Duration::from_millis(20);

/// A directory that archives are applied to.
pub struct TargetDirectory {
    /// The directory.
    pub directory: NamedFile,
    /// The number of threads that write or compare files. By default there is one for each processor.
    pub threads: Option<u16>,
}

/// A directory that this process alone applies archives to, until the value is dropped.
pub struct LockedDirectory {
    directory: StateDirectory,
    threads: Option<u16>,
    /// The path of a directory that was created.
    created: Option<PathBuf>,
    /// The directory, for operations without a path. Holds the lock.
    handle: fs::File,
}

impl Drop for LockedDirectory {
    /// Remove a new directory that is still empty, and unlock the directory. Closing it is not enough: a process that another
    /// thread starts at this moment holds a copy of the handle until it executes its program.
    fn drop(&mut self) {
        if let Some(path) = &self.created {
            let _ = fs::remove_dir(path);
        }
        let _ = self.handle.unlock();
    }
}

impl LockedDirectory {
    /// Open and lock the directory, which is created if it does not exist.
    pub fn create(target: &TargetDirectory) -> Result<Self> {
        let NamedFile { name, path } = &target.directory;
        loop {
            let created = match fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
                Ok(()) => Some(path.clone()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
                Err(error) => return Err(cannot_open(name, &error)),
            };
            let mut locked = Self::open(target)?;
            // The process that held the lock may have removed its new directory.
            if locked.is_at(path) {
                locked.created = created;
                return Ok(locked);
            }
        }
    }

    /// Open and lock the directory.
    pub(super) fn open(target: &TargetDirectory) -> Result<Self> {
        let NamedFile { name, path } = &target.directory;
        let failed = |error: io::Error| cannot_open(name, &error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty());
        let handle = fs::File::from(handle.map_err(|error| failed(error.into()))?);
        if !lock(&handle) {
            let name = name.as_os_str().as_bytes();
            let refused = format_bytes("another archive is being applied to '{}'", &[name]);
            return Err(Error::fatal(refused));
        }
        Ok(Self {
            directory: StateDirectory {
                dir: Dir::from_std_file(handle.try_clone().map_err(failed)?),
                name: name.clone(),
            },
            threads: target.threads,
            created: None,
            handle,
        })
    }

    /// Whether `path` still leads to this directory.
    fn is_at(&self, path: &Path) -> bool {
        let id = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let own = self.handle.metadata().map(id);
        own.is_ok_and(|own| path.metadata().is_ok_and(|there| id(there) == own))
    }

    /// The directory itself, for the files of the state.
    pub(super) fn directory(&self) -> &StateDirectory {
        &self.directory
    }

    /// The number of threads that work on the directory in addition to the calling one.
    pub(super) fn helpers(&self) -> usize {
        threads::helpers(self.threads)
    }

    /// A cursor at the top.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.directory.dir)
    }

    /// Whether the directory holds only the state files of `apply`.
    pub(super) fn is_bare(&self) -> Result<bool> {
        let failed = |error| failed("read", self.directory.name.as_os_str().as_bytes(), error);
        for entry in self.directory.dir.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if !state_files::is_reserved(name.as_bytes()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Flush all changes to the disk.
    pub(super) fn sync(&self) -> Result<()> {
        let name = self.directory.name.as_os_str().as_bytes();
        sync_all_files(&self.handle).map_err(|error| failed("write", name, error))
    }
}

fn cannot_open(name: &Path, error: &io::Error) -> Error {
    let why = strerror(error);
    let values = [name.as_os_str().as_bytes(), why.as_bytes()];
    Error::fatal(format_bytes("cannot open directory '{}': {}", &values))
}

/// Locks the directory, or waits for another application until [`PATIENCE`] ends. A file system without locks is accepted;
/// only this protection is lost.
fn lock(directory: &fs::File) -> bool {
    let begin = Instant::now();
    while let Err(TryLockError::WouldBlock) = directory.try_lock() {
        if begin.elapsed() >= PATIENCE {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Flush the file system of `directory`.
#[cfg(target_os = "linux")]
fn sync_all_files(directory: &fs::File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(directory)?)
}

/// Start to flush all file systems, as `sync` does, and flush `directory`. Other systems cannot wait for the files of
/// one file system.
#[cfg(not(target_os = "linux"))]
fn sync_all_files(directory: &fs::File) -> io::Result<()> {
    rustix::fs::sync();
    directory.sync_all()
}
