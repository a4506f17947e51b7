//! Where the archive goes: standard output, or a file that appears when it is complete.
//!
//! A file is written beside its target and renamed at the end, so that a failed run leaves what
//! was there before; what was written so far is removed, also on a signal. A target that is no
//! regular file (a device, a pipe, a symbolic link) is written in place and never replaced; so is a file
//! with several names, and one that cannot be replaced by one like it.

mod file;
mod filter;
mod records;

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSlice, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use rustix::event::{PollFd, PollFlags, poll};

use gix::bstr::BStr;

use crate::{
    error::{Error, Result, filled, strerror},
    process::command::CommandContext,
};
use file::has_one_name;
pub use file::{InPlace, Replacement, Unfinished, umask};
pub use filter::Filter;
pub use records::Records;

/// An open destination.
pub enum Destination {
    /// Written as it comes.
    Direct(File),
    /// A file that is emptied when the first byte comes.
    InPlace(InPlace),
    /// Written to a temporary file that takes the place of the target at the end.
    Replacing(Replacement),
}

impl Destination {
    /// Open `path` for writing. If a temporary file is to be made, `watch` is told before.
    pub fn create(path: &Path, watch: impl FnOnce(Unfinished) -> Result<()>) -> Result<Self> {
        let failed = |error: io::Error| {
            let why = strerror(&error);
            let values = [path.as_os_str().as_bytes(), why.as_bytes()];
            Error::fatal(filled("could not open '{}' for writing: {}", &values))
        };
        let existing = match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // Whoever may not write to the file may not replace it either.
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                if !has_one_name(path, &metadata) {
                    return Ok(Self::InPlace(InPlace::new(file)));
                }
                Some((file, metadata))
            }
            Ok(_) => return Ok(Self::InPlace(InPlace::open(path).map_err(failed)?)),
            Err(_) => None,
        };
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            let is_directory = rustix::io::Errno::ISDIR.raw_os_error();
            return Err(failed(io::Error::from_raw_os_error(is_directory)));
        }
        let unfinished = Unfinished::default();
        watch(unfinished.clone())?;
        let old = existing.as_ref().map(|(_, metadata)| metadata);
        match (Replacement::new(path, old, unfinished), existing) {
            (Ok(replacement), _) => Ok(Self::Replacing(replacement)),
            // There can be no file like it, but this one may be written to.
            (Err(_), Some((file, _))) => Ok(Self::InPlace(InPlace::new(file))),
            (Err(error), None) => Err(failed(error)),
        }
    }

    /// Put `command` in front of it.
    pub fn filter(&mut self, command: &BStr, context: &CommandContext) -> Result<Filter> {
        let file = match self {
            Self::Direct(file) => file,
            Self::InPlace(file) => file.emptied().map_err(|error| Error::write(&error))?,
            Self::Replacing(replacement) => replacement.file.as_file(),
        };
        Filter::start(command, file, context)
    }

    /// The archive is complete.
    pub fn complete(self) -> Result<()> {
        match self {
            Self::Direct(_) => Ok(()),
            Self::InPlace(mut file) => match file.emptied() {
                Ok(_) => Ok(()),
                Err(error) => Err(Error::write(&error)),
            },
            Self::Replacing(replacement) => {
                let path = replacement.target.clone();
                replacement.complete().map_err(|error| {
                    let why = strerror(&error);
                    let values = [path.as_os_str().as_bytes(), why.as_bytes()];
                    Error::fatal(filled("could not write to '{}': {}", &values))
                })
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => patiently(file, |mut file| file.write(bytes)),
            Self::InPlace(file) => patiently(file.emptied()?, |mut file| file.write(bytes)),
            Self::Replacing(replacement) => replacement.file.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let write = |mut file: &File| file.write_vectored(slices);
        match self {
            Self::Direct(file) => patiently(file, write),
            Self::InPlace(file) => patiently(file.emptied()?, write),
            Self::Replacing(replacement) => replacement.file.write_vectored(slices),
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
