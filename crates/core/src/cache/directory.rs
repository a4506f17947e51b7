//! The directory of the cache, as a handle. Files in it are opened by their names alone, never through a link.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, fstat, fstatvfs, mkdir, open,
        openat, renameat_with, statat, unlinkat,
    },
    io::Errno,
    process::{Resource, geteuid, getrlimit},
};

use super::error::CacheError;

/// The permissions of the directory and of its files: the owner alone sees them.
const DIRECTORY_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Files take room in blocks of this many bytes.
const BLOCK: u64 = 4096;

/// The first pause of a wait for another process.
const FIRST_NAP: Duration = Duration::from_micros(200);
/// As often the pause is doubled, up to 26 ms.
const MAX_DOUBLINGS: usize = 7;
/// An open directory that belongs to the user and that no other user may write to.
pub(super) struct CacheDirectory {
    handle: std::os::fd::OwnedFd,
}

/// A file of the directory.
pub(super) struct Listed {
    pub(super) name: String,
    /// Bytes that the file takes, in whole blocks.
    pub(super) room: u64,
    /// When the file was last asked for.
    pub(super) used: SystemTime,
}

impl CacheDirectory {
    /// Opens the directory at `path`, and makes it first if it is missing, with those above it.
    pub(super) fn open(path: &Path) -> Result<Self, CacheError> {
        let failed = |error: Errno| CacheError::new("cannot open the directory", &error.into());
        let made = match (mkdir(path, DIRECTORY_MODE), path.parent()) {
            (Err(Errno::NOENT), Some(above)) => {
                fs::create_dir_all(above)
                    .map_err(|error| CacheError::new("cannot make the directory", &error))?;
                mkdir(path, DIRECTORY_MODE)
            }
            (made, _) => made,
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let handle = open(path, flags, Mode::empty()).map_err(failed)?;
        let stat = fstat(&handle).map_err(failed)?;
        if stat.st_uid != geteuid().as_raw() {
            return Err(CacheError("the directory belongs to another user".into()));
        }
        if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            return Err(CacheError("others may write to the directory".into()));
        }
        Ok(Self { handle })
    }

    /// Opens the file `name`, for reading and writing; `None` if there is none.
    pub(super) fn open_file(&self, name: &str) -> Result<Option<File>, CacheError> {
        match self.file(name, OFlags::RDWR) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(CacheError::new("cannot open a file", &error.into())),
        }
    }

    /// Makes the file `name`; `None` if there is one.
    pub(super) fn create_file(&self, name: &str) -> Result<Option<File>, CacheError> {
        match self.file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::EXIST) => Ok(None),
            Err(error) => Err(CacheError::new("cannot make a file", &error.into())),
        }
    }

    /// Opens the file `name`, and makes it first if it is missing.
    pub(super) fn open_or_create(&self, name: &str) -> Result<File, CacheError> {
        self.file(name, OFlags::RDWR | OFlags::CREATE)
            .map_err(|error| CacheError::new("cannot open a file", &error.into()))
    }

    fn file(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.handle, name, flags, FILE_MODE).map(File::from)
    }

    /// Whether there is a file `name`.
    pub(super) fn exists(&self, name: &str) -> Result<bool, CacheError> {
        Ok(self.look_up(name)?.is_some())
    }

    /// Whether `name` leads to `file`.
    pub(super) fn is_at(&self, name: &str, file: &File) -> Result<bool, CacheError> {
        let ours = fstat(file);
        let ours = ours.map_err(|error| CacheError::new("cannot look at a file", &error.into()))?;
        let named = self.look_up(name)?;
        Ok(named.is_some_and(|it| (it.st_dev, it.st_ino) == (ours.st_dev, ours.st_ino)))
    }

    fn look_up(&self, name: &str) -> Result<Option<Stat>, CacheError> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(CacheError::new("cannot look at a file", &error.into())),
        }
    }

    /// Removes `name`, if there is such a file.
    pub(super) fn remove(&self, name: &str) -> Result<(), CacheError> {
        match unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(CacheError::new("cannot remove a file", &error.into())),
        }
    }

    /// Removes `name`, if it leads to `file`.
    pub(super) fn remove_this(&self, name: &str, file: &File) -> Result<(), CacheError> {
        if self.is_at(name, file)? {
            self.remove(name)
        } else {
            Ok(())
        }
    }

    /// Gives the file `old` the name `new`.
    pub(super) fn rename(&self, old: &str, new: &str) -> Result<(), CacheError> {
        renameat_with(&self.handle, old, &self.handle, new, RenameFlags::empty())
            .map_err(|error| CacheError::new("cannot rename a file", &error.into()))
    }

    /// The regular files of the directory.
    pub(super) fn list(&self) -> Result<Vec<Listed>, CacheError> {
        let failed = |error: Errno| CacheError::new("cannot list the directory", &error.into());
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(stat) = statat(&self.handle, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                continue;
            }
            files.push(Listed {
                name: entry.file_name().to_string_lossy().into_owned(),
                room: room(stat.st_size.max(0).cast_unsigned()),
                used: time(stat.st_mtime, stat.st_mtime_nsec),
            });
        }
        Ok(files)
    }

    /// Free bytes of the file system, and all of its bytes.
    pub(super) fn space(&self) -> Result<(u64, u64), CacheError> {
        let space = fstatvfs(&self.handle)
            .map_err(|error| CacheError::new("cannot see the free space", &error.into()))?;
        let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
        Ok((bytes(space.f_bavail), bytes(space.f_blocks)))
    }
}

/// The time of a file. The types of both numbers differ between systems.
fn time(seconds: impl TryInto<u64>, nanoseconds: impl TryInto<u64>) -> SystemTime {
    let seconds = Duration::from_secs(seconds.try_into().unwrap_or(0));
    let nanoseconds = Duration::from_nanos(nanoseconds.try_into().unwrap_or(0));
    SystemTime::UNIX_EPOCH + seconds + nanoseconds
}

/// Whether `file` was not asked for during `age`.
pub(super) fn is_older(file: &File, age: Duration) -> bool {
    let used = file.metadata().and_then(|metadata| metadata.modified());
    // A time to come is that of a clock that was set back.
    used.is_ok_and(|used| used.elapsed().is_ok_and(|elapsed| elapsed > age))
}

/// The most bytes that this process may write to a file. The kernel ends a process that writes more.
pub(super) fn largest_file() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// Bytes that a file of `len` bytes takes, in whole blocks.
pub(super) fn room(len: u64) -> u64 {
    len.next_multiple_of(BLOCK)
}

/// Takes the lock of `file`, which the kernel drops with the last handle; false if another process has the lock.
pub(super) fn try_lock(file: &File) -> Result<bool, CacheError> {
    locked(file.try_lock())
}

/// Takes the lock of `file`, and waits for it if another process has it.
pub(super) fn lock(file: &File) -> Result<(), CacheError> {
    file.lock()
        .map_err(|error| CacheError::new("cannot lock the directory", &error))
}

/// Takes a lock of `file` that others may share; false if another process has the lock for itself.
pub(super) fn try_lock_shared(file: &File) -> Result<bool, CacheError> {
    locked(file.try_lock_shared())
}

fn locked(outcome: Result<(), std::fs::TryLockError>) -> Result<bool, CacheError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(CacheError::new("cannot lock a file", &error))
        }
    }
}

/// Notes that `file` was asked for. Without the note, the file is removed earlier.
pub(super) fn touch(file: &File) {
    let _: io::Result<()> = file.set_modified(SystemTime::now());
}

/// The pause before look number `attempt` at what another process does.
pub(super) fn nap(attempt: usize) -> Duration {
    FIRST_NAP * (1 << attempt.min(MAX_DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{CacheDirectory, CacheError};
    use sluice_base::temporary;

    #[test]
    fn only_the_owner_may_write() {
        let top = temporary::directory();
        let path = top.path().join("cache");
        assert!(CacheDirectory::open(&path).is_ok());
        let mode = |path| fs::metadata(path).expect("made").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).expect("our own");
        let refused = CacheError("others may write to the directory".into());
        assert_eq!(CacheDirectory::open(&path).err(), Some(refused));
    }

    #[test]
    fn links_are_not_followed() {
        let top = temporary::directory();
        let directory = CacheDirectory::open(&top.path().join("cache")).expect("ours");
        fs::write(top.path().join("file"), "secret").expect("our own");
        std::os::unix::fs::symlink("../file", top.path().join("cache/link")).expect("our own");
        assert!(directory.open_file("link").is_err());
        assert!(directory.open_or_create("link").is_err());
        assert!(directory.create_file("link").expect("readable").is_none());
    }
}
