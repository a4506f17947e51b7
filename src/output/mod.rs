//! Where the archive goes: standard output, or a file that appears when it is complete.
//!
//! A file is written beside its target and renamed at the end, so that a failed run leaves what
//! was there before; what was written so far is removed, also on a signal. A target that is no
//! regular file (a device, a pipe, a symbolic link) is written in place and never replaced.

mod filter;
mod records;

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{self, IoSlice, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use rustix::event::{PollFd, PollFlags, poll};

use gix::bstr::BStr;

use crate::{
    command::Surroundings,
    error::{Error, Result, strerror},
};
pub use filter::Filter;
pub use records::Records;

/// An open destination.
pub enum Destination {
    /// Written as it comes.
    Direct(File),
    /// Written to a temporary file that takes the place of the target at the end.
    Replacing(NamedTempFile, PathBuf),
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
        let open = || {
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)
        };
        let existing = match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // Whoever may not write to the file may not replace it either.
                OpenOptions::new().write(true).open(path).map_err(failed)?;
                Some(metadata.permissions())
            }
            Ok(_) => return Ok(Self::Direct(open().map_err(failed)?)),
            Err(_) => None,
        };
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            let is_directory = rustix::io::Errno::ISDIR.raw_os_error();
            return Err(failed(io::Error::from_raw_os_error(is_directory)));
        }
        let replaces = existing.is_some();
        let permissions = existing.unwrap_or_else(|| Permissions::from_mode(0o666 & !umask()));
        let file = NamedTempFile::new_in(directory).and_then(|file| {
            file.as_file().set_permissions(permissions)?;
            Ok(file)
        });
        match file {
            Ok(file) => Ok(Self::Replacing(file, path.to_owned())),
            // The directory takes no new file, but this one may be written to.
            Err(_) if replaces => Ok(Self::Direct(open().map_err(failed)?)),
            Err(error) => Err(failed(error)),
        }
    }

    /// Put `command` in front of it.
    pub fn filter(&self, command: &BStr, surroundings: &Surroundings) -> Result<Filter> {
        let file = match self {
            Self::Direct(file) => file,
            Self::Replacing(file, _) => file.as_file(),
        };
        Filter::start(command, file, surroundings)
    }

    /// The file that has to go if the run is cut short.
    pub fn temporary(&self) -> Option<&Path> {
        match self {
            Self::Direct(_) => None,
            Self::Replacing(file, _) => Some(file.path()),
        }
    }

    /// The archive is complete.
    pub fn complete(self) -> Result<()> {
        let Self::Replacing(file, path) = self else {
            return Ok(());
        };
        file.persist(&path).map(drop).map_err(|error| {
            let (path, error) = (path.display(), strerror(&error.error));
            Error::fatal(format!("could not write to '{path}': {error}"))
        })
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => patiently(file, |mut file| file.write(bytes)),
            Self::Replacing(file, _) => file.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => patiently(file, |mut file| file.write_vectored(slices)),
            Self::Replacing(file, _) => file.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Write, and wait where somebody made the file non-blocking, as git does.
fn patiently(file: &File, write: impl Fn(&File) -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match write(file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::new(file, PollFlags::OUT)];
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
