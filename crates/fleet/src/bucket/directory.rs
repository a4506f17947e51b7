//! A directory as a bucket. Files are written under temporary names and renamed, so that a reader sees the old one or the
//! new one.

use std::{
    convert::identity,
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use tempfile::NamedTempFile;

use super::{
    digest::Hashing,
    files::{Bucket, Listed, Sent, Take, UNFINISHED, Version, Versioned, no_bucket, not_empty},
};
use sluice_base::{
    buffer::spool::Spooled,
    error::{Error, Result, format_bytes, strerror},
    io::each_piece,
    working_directory::NamedFile,
};

/// Permissions before the umask: all readers may be other users.
const MODE: u32 = 0o666;
/// Bytes read at once.
const PIECE: usize = 256 << 10;

/// A directory.
pub(super) struct DirectoryBucket {
    root: NamedFile,
}

impl DirectoryBucket {
    pub(super) fn new(root: NamedFile) -> Self {
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path.join(name)
    }

    /// Opens a file; `None` if there is none.
    fn open(&self, name: &str) -> Result<Option<File>> {
        match File::open(self.path(name)) {
            Ok(file) => Ok(Some(file)),
            Err(error) => self.absent(name, error),
        }
    }

    /// Nothing, if `error` says that the directory is there and the file is not.
    fn absent<T>(&self, name: &str, error: io::Error) -> Result<Option<T>> {
        match error.kind() {
            ErrorKind::NotFound if self.root.path.exists() => Ok(None),
            ErrorKind::NotFound => Err(no_bucket(self.root.name.as_os_str().as_bytes())),
            _ => Err(self.failed("read", name, &error)),
        }
    }

    fn failed(&self, verb: &str, name: &str, error: &io::Error) -> Error {
        let root = self.root.name.as_os_str().as_bytes();
        let why = strerror(error);
        let values = [verb.as_bytes(), name.as_bytes(), root, why.as_bytes()];
        Error::unreachable(format_bytes("cannot {} '{}' in '{}': {}", &values))
    }

    /// Makes the folder of `name`, and the folders above up to the directory itself, which has to be there.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        fs::metadata(&self.root.path)?;
        let path = self.path(name);
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        Ok(folder.to_owned())
    }

    /// Writes a file of `folder` with what `write` writes.
    fn write(
        &self,
        folder: &Path,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file: NamedTempFile = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)?;
        write(file.as_file_mut())?;
        file.as_file().sync_all()?;
        file.persist(self.path(name))?;
        File::open(folder)?.sync_all()
    }
}

impl Bucket for DirectoryBucket {
    fn read(&self, name: &str, max: u64) -> Result<Option<Versioned>> {
        let Some(file) = self.open(name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let read = file.take(max).read_to_end(&mut bytes);
        read.map_err(|error| self.failed("read", name, &error))?;
        let version = version(&bytes)?;
        Ok(Some(Versioned { bytes, version }))
    }

    fn replace(&self, name: &str, bytes: &[u8], known: Option<&Version>) -> Result<bool> {
        let failed = |error: io::Error| self.failed("write", name, &error);
        let folder = self.folder(name).map_err(failed)?;
        // Publishers take turns. The lock ends with the file.
        let lock = File::open(&folder).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let current = self.read(name, u64::MAX)?;
        let tag = |version: &Version| version.tag.clone();
        if current.map(|current| tag(&current.version)) != known.map(tag) {
            return Ok(false);
        }
        let written = self.write(&folder, name, |file| file.write_all(bytes));
        written.map(|()| true).map_err(failed)
    }

    fn put(&self, name: &str, content: &Spooled, sent: &mut Sent<'_>) -> Result<()> {
        let written = self
            .folder(name)
            .and_then(|folder| self.write(&folder, name, |file| copy(content, file, sent)));
        written.map_err(|error| self.failed("write", name, &error))
    }

    fn fetch(&self, name: &str, _size: u64, take: &mut Take<'_>) -> Result<bool> {
        let Some(file) = self.open(name)? else {
            return Ok(false);
        };
        let failed = |error| self.failed("read", name, &error);
        each_piece(file, &mut vec![0; PIECE], failed, take)?;
        Ok(true)
    }

    fn written(&self, name: &str) -> Result<Option<SystemTime>> {
        let metadata = fs::metadata(self.path(name));
        match metadata.and_then(|metadata| metadata.modified()) {
            Ok(time) => Ok(Some(time)),
            Err(error) => self.absent(name, error),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let entries = match fs::read_dir(self.path(folder)) {
            Ok(entries) => entries,
            Err(error) => return Ok(self.absent(folder, error)?.unwrap_or_default()),
        };
        let listed = entries.filter_map(|entry| regular_file(entry).transpose());
        let listed: io::Result<_> = listed.collect();
        listed.map_err(|error| self.failed("read", folder, &error))
    }

    fn has_folder(&self, name: &str) -> Result<bool> {
        match fs::metadata(self.path(name)) {
            Ok(metadata) => Ok(metadata.is_dir()),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(false),
                _ => Err(self.failed("read", name, &error)),
            },
        }
    }

    /// A lock makes [`Bucket::replace`] reliable, so nothing is tried.
    fn create(&self, folder: &str, _probe: &str) -> Result<()> {
        let failed = |error: io::Error| self.failed("create", folder, &error);
        let is_empty = match fs::read_dir(&self.root.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            entries => entries.map_err(failed)?.next().is_none(),
        };
        // Another publisher may have created the bucket meanwhile.
        if !is_empty && !self.has_folder(folder)? {
            return Err(not_empty(self.root.name.as_os_str().as_bytes()));
        }
        fs::create_dir_all(self.path(folder)).map_err(failed)
    }

    fn remove(&self, name: &str) -> Result<()> {
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(self.failed("remove", name, &error))
            }
            _ => Ok(()),
        }
    }
}

/// Writes `content` to `file`, piece by piece.
fn copy(content: &Spooled, file: &mut File, sent: &mut Sent<'_>) -> io::Result<()> {
    let mut written = 0;
    let write = |piece: &[u8]| {
        file.write_all(piece)?;
        written += piece.len() as u64;
        sent(written);
        Ok(())
    };
    each_piece(content.reader(), &mut vec![0; PIECE], identity, write)
}

/// A regular file, perhaps through a symbolic link; `None` for anything else, and for a file that has disappeared. A link that
/// leads nowhere is an error: what it led to may come back.
fn regular_file(entry: io::Result<fs::DirEntry>) -> io::Result<Option<Listed>> {
    let entry = entry?;
    let metadata = match fs::metadata(entry.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound && !entry.path().is_symlink() => {
            return Ok(None);
        }
        metadata => metadata?,
    };
    let name = entry.file_name().into_string().ok();
    Ok(match name.filter(|_| metadata.is_file()) {
        Some(name) => Some(Listed {
            name,
            size: metadata.len(),
            written: metadata.modified()?,
        }),
        None => None,
    })
}

/// A version is its content.
fn version(bytes: &[u8]) -> Result<Version> {
    let mut hashing = Hashing::default();
    hashing.update(bytes);
    Ok(Version {
        tag: Some(hashing.finish()?.to_string()),
        generation: None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sluice_base::working_directory::WorkingDirectory;

    use super::{Bucket, DirectoryBucket};

    /// As by a second publisher that has looked for the bucket before the first one created it.
    #[test]
    fn a_bucket_is_created_twice() {
        let directory = tempfile::tempdir().expect("a directory");
        let bucket = DirectoryBucket::new(WorkingDirectory::Current.file(directory.path()));
        for _ in 0..2 {
            assert!(bucket.create("v1", "").is_ok());
        }
        fs::remove_dir(directory.path().join("v1")).expect("our own");
        fs::write(directory.path().join("other"), "").expect("our own");
        assert!(bucket.create("v1", "").is_err());
    }
}
