//! Where the archive goes: standard output, or a file that appears when it is complete.
//!
//! A file is written beside its target and renamed at the end, so that a failed run leaves what
//! was there before; what was written so far is removed, also on a signal. A target that is no
//! regular file (a device, a pipe, a symbolic link) is written in place and never replaced.

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use gix_tempfile::{AutoRemove, ContainingDirectory, Handle, handle::Writable};

use rustix::event::{PollFd, PollFlags, poll};

use crate::error::{Error, Result, strerror};

/// An open destination.
pub enum Destination {
    /// Written as it comes.
    Direct(File),
    /// Written to a temporary file that takes the place of the target at the end.
    Replacing(Handle<Writable>, PathBuf),
}

impl Destination {
    /// Open `path` for writing.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| {
            let path = path.display();
            Error::fatal(format!(
                "could not open '{path}' for writing: {}",
                strerror(&error)
            ))
        };
        let existing = match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // Whoever may not write to the file may not replace it either.
                OpenOptions::new().write(true).open(path).map_err(failed)?;
                Some(metadata.permissions())
            }
            Ok(_) => {
                let file = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .open(path);
                return Ok(Self::Direct(file.map_err(failed)?));
            }
            Err(_) => None,
        };
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let permissions = existing.unwrap_or_else(|| Permissions::from_mode(0o666 & !umask()));
        let file = gix_tempfile::new(directory, ContainingDirectory::Exists, AutoRemove::Tempfile)
            .and_then(|mut file| {
                file.with_mut(|file| file.as_file().set_permissions(permissions))??;
                Ok(file)
            });
        Ok(Self::Replacing(file.map_err(failed)?, path.to_owned()))
    }

    /// The archive is complete.
    pub fn complete(self) -> Result<()> {
        let Self::Replacing(file, path) = self else {
            return Ok(());
        };
        match file.persist(&path) {
            Ok(_) => Ok(()),
            Err(error) => {
                let (path, error) = (path.display(), strerror(&error.error));
                Err(Error::fatal(format!(
                    "could not write to '{path}': {error}"
                )))
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => patient_write(file, bytes),
            Self::Replacing(file, _) => file.with_mut(|file| file.write(bytes))?,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Write, and wait where somebody made the file non-blocking, as git does.
fn patient_write(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::new(&*file, PollFlags::OUT)];
                poll(&mut wanted, None)?;
            }
            outcome => return outcome,
        }
    }
}

/// The process's umask, which can only be read by setting it.
pub fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.bits()
}
