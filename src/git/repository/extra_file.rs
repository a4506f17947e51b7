//! Checks untracked files that the command line adds to the archive.

use std::os::unix::{ffi::OsStrExt, fs::MetadataExt};

use gix::bstr::BStr;

use crate::base::{
    error::{Error, Result, format_bytes},
    working_directory::NamedFile,
};

/// Whether the owner may execute `file`. `below` precedes a name that is no full path in messages.
pub fn examine(file: &NamedFile, below: &BStr) -> Result<bool> {
    let refused = |why: &str| {
        let below = if file.name.is_absolute() {
            BStr::new("")
        } else {
            below
        };
        let values = [why.as_bytes(), below, file.name.as_os_str().as_bytes()];
        Error::fatal(format_bytes("{}: {}{}", &values))
    };
    let metadata = std::fs::metadata(&file.path).map_err(|_| refused("File not found"))?;
    if !metadata.is_file() {
        return Err(refused("Not a regular file"));
    }
    Ok(metadata.mode() & 0o100 != 0)
}
