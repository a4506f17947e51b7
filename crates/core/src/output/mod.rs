//! The destination of the archive: standard output, or a file that appears when it is complete.
//!
//! The archive is written to a temporary file next to the target, which is renamed at the end. A failed run
//! or a signal removes the temporary file and leaves the target unchanged. A target that is no regular file
//! (a device, a pipe, a symbolic link) is written in place and never replaced. A file with several names,
//! or whose attributes cannot be kept, is written in place too.

pub mod report;

mod file;
mod filter;
mod records;
mod relay;

use std::{
    fs::{File, OpenOptions},
    io::{self, IoSlice, IsTerminal, Write},
    os::unix::ffi::OsStrExt,
};

use bstr::BStr;

use file::has_one_name;
pub use file::{InPlace, Replacement, Unfinished, umask};
pub use filter::CommandFilter;
pub use records::RecordWriter;
use relay::Relay;
use sluice_base::{
    error::{Error, Result, format_bytes, strerror},
    io::retry_would_block,
    working_directory::NamedFile,
};
use sluice_git::command::CommandContext;

/// An open destination.
pub enum Destination {
    /// Standard output, or another file that is written directly.
    Direct(File),
    /// A file that is emptied at the first byte.
    InPlace(InPlace),
    /// A temporary file that replaces the target at the end.
    Replacing(Replacement),
    /// A part of a stream that other things share.
    Stream(Box<dyn Write + Send>),
    /// The destination at the end of a pipe.
    Relayed(Relay),
}

impl Destination {
    /// Open `file` for writing. `watch` is called before a temporary file is created.
    pub fn create(file: &NamedFile, watch: impl FnOnce(Unfinished) -> Result<()>) -> Result<Self> {
        let NamedFile { name, path } = file;
        let failed = |error: io::Error| {
            let why = strerror(&error);
            let values = [name.as_os_str().as_bytes(), why.as_bytes()];
            Error::fatal(format_bytes("could not open '{}' for writing: {}", &values))
        };
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            // No file has this name, and the system says why.
            return Ok(Self::InPlace(InPlace::open(path).map_err(failed)?));
        }
        let existing = match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // A file without write permission must not be replaced either.
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                if !has_one_name(path, &metadata) {
                    return Ok(Self::InPlace(InPlace::new(file)));
                }
                Some((file, metadata))
            }
            Ok(_) => return Ok(Self::InPlace(InPlace::open(path).map_err(failed)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let unfinished = Unfinished::default();
        watch(unfinished.clone())?;
        let old = existing.as_ref().map(|(_, metadata)| metadata);
        match (Replacement::new(path, old, unfinished), existing) {
            (Ok(replacement), _) => Ok(Self::Replacing(replacement)),
            // The file cannot be replaced with the same attributes, but it is writable.
            (Err(_), Some((file, _))) => Ok(Self::InPlace(InPlace::new(file))),
            (Err(error), None) => Err(failed(error)),
        }
    }

    /// Whether the destination is a terminal, and no file that the user has named.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Direct(file) if file.is_terminal())
    }

    /// Turn a stream into a file, for what writes to files alone.
    pub fn into_file(self) -> Result<Self> {
        match self {
            Self::Stream(stream) => match Relay::start(stream) {
                Ok(relay) => Ok(Self::Relayed(relay)),
                Err(error) => Err(Error::fatal("cannot create a pipe").caused_by(strerror(&error))),
            },
            other => Ok(other),
        }
    }

    /// Start `command` in front of the destination, which is no stream.
    pub fn filter(&mut self, command: &BStr, context: &CommandContext) -> Result<CommandFilter> {
        let file = match self {
            Self::Direct(file) => file,
            Self::InPlace(file) => file.emptied().map_err(|error| Error::write(&error))?,
            Self::Replacing(replacement) => replacement.file.as_file(),
            Self::Relayed(_) | Self::Stream(_) => match self.file() {
                Some(file) => file,
                None => return Err(Error::fatal("cannot start a command in front of a stream")),
            },
        };
        CommandFilter::start(command, file, context)
    }

    /// The file that takes the archive. `None` where the first byte empties the file.
    pub fn file(&self) -> Option<&File> {
        match self {
            Self::Direct(file) => Some(file),
            Self::InPlace(_) | Self::Stream(_) => None,
            Self::Replacing(replacement) => Some(replacement.file.as_file()),
            Self::Relayed(relay) => relay.file(),
        }
    }

    /// Has `write` write to the open file or stream.
    fn put(&mut self, write: impl Fn(&mut dyn Write) -> io::Result<usize>) -> io::Result<usize> {
        match self {
            Self::Direct(file) => retry_would_block(file, |mut file| write(&mut file)),
            Self::InPlace(file) => retry_would_block(file.emptied()?, |mut file| write(&mut file)),
            Self::Replacing(replacement) => replacement.put(write),
            Self::Stream(stream) => write(stream),
            Self::Relayed(relay) => relay.file().map_or(Ok(0), |mut file| write(&mut file)),
        }
    }

    /// Complete the destination, after the archive.
    pub fn complete(self) -> Result<()> {
        match self {
            Self::Direct(_) => Ok(()),
            Self::Stream(mut stream) => stream.flush().map_err(|error| Error::write(&error)),
            Self::Relayed(mut relay) => relay.finish().map_err(|error| Error::write(&error)),
            Self::InPlace(mut file) => match file.emptied() {
                Ok(_) => Ok(()),
                Err(error) => Err(Error::write(&error)),
            },
            Self::Replacing(replacement) => {
                let path = replacement.target.clone();
                replacement.complete().map_err(|error| {
                    let why = strerror(&error);
                    let values = [path.as_os_str().as_bytes(), why.as_bytes()];
                    Error::fatal(format_bytes("could not write to '{}': {}", &values))
                })
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(|to| to.write(bytes))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.put(|to| to.write_vectored(slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
