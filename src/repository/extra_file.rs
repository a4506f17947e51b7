//! Checks untracked files that the command line adds to the archive.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use gix::bstr::BStr;

use crate::error::{Error, Result, filled};

/// Whether the owner may execute `file`, whose path is relative to the current directory. `below` precedes
/// the path in messages.
pub fn examine(file: &OsStr, below: &BStr) -> Result<bool> {
    let refused = |why: &str| {
        let below = if Path::new(file).is_absolute() {
            BStr::new("")
        } else {
            below
        };
        let values = [why.as_bytes(), below, file.as_bytes()];
        Error::fatal(filled("{}: {}{}", &values))
    };
    let metadata = std::fs::metadata(file).map_err(|_| refused("File not found"))?;
    if !metadata.is_file() {
        return Err(refused("Not a regular file"));
    }
    Ok(metadata.mode() & 0o100 != 0)
}
