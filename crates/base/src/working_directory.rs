//! The directory in which a request is made: the paths of a request count from there. Must not change the directory
//! of the process, which requests share.

use std::{
    fs::File,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::error::{Error, Result, format_bytes, strerror};

/// The directory of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkingDirectory {
    /// That of the process.
    #[default]
    Current,
    /// Another one, by its full path.
    Other(PathBuf),
}

/// A file that a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The name as typed, for messages.
    pub name: PathBuf,
    /// Where this process finds the file.
    pub path: PathBuf,
}

impl NamedFile {
    /// Open the file to read it.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| {
            let why = strerror(&error);
            let values = [self.name.as_os_str().as_bytes(), why.as_bytes()];
            Error::fatal(format_bytes("could not open '{}' for reading: {}", &values))
        })
    }
}

impl WorkingDirectory {
    /// The file that a request in this directory calls `name`.
    pub fn file(&self, name: impl AsRef<Path>) -> NamedFile {
        let name = name.as_ref();
        let path = match self {
            Self::Current => name.to_owned(),
            // It names no file, while joined to the directory it would name that.
            Self::Other(_) if name.as_os_str().is_empty() => PathBuf::new(),
            Self::Other(directory) => directory.join(name),
        };
        NamedFile {
            name: name.to_owned(),
            path,
        }
    }

    /// Make `command` run in this directory.
    pub fn set(&self, command: &mut Command) {
        if let Self::Other(directory) = self {
            command.current_dir(directory);
        }
    }
}
