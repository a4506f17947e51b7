//! Checks untracked files that the command line adds to the archive.

use std::{
    fs::{self, File, Metadata},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::Path,
};

use bstr::{BStr, BString};
use walkdir::{DirEntry, WalkDir};

use sluice_base::{
    error::{Error, Result, format_bytes, strerror},
    working_directory::NamedFile,
};
use sluice_cli::{Extra, ExtraContent};

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
    if file.name.as_os_str().is_empty() && !below.is_empty() {
        // git looks from the top, where this names the current directory.
        return Err(refused("Not a regular file"));
    }
    let metadata = fs::metadata(&file.path).map_err(|_| refused("File not found"))?;
    if !metadata.is_file() {
        return Err(refused("Not a regular file"));
    }
    Ok(is_executable(&metadata))
}

/// Everything below `directory`, sorted by name, without repositories' `.git`. Links are not followed. Fails if something cannot
/// be read, or is no file, link or directory.
pub fn below(directory: &NamedFile) -> Result<Vec<Extra>> {
    let is_directory = fs::metadata(&directory.path).is_ok_and(|it| it.is_dir());
    if !is_directory {
        let name = [directory.name.as_os_str().as_bytes()];
        return Err(Error::fatal(format_bytes("Not a directory: {}", &name)));
    }
    // With the slash, a directory that is itself a link is entered.
    let walk = WalkDir::new(directory.path.join("")).min_depth(1);
    let is_wanted = |entry: &DirEntry| entry.file_name() != ".git";
    let mut found = Vec::new();
    for entry in walk.into_iter().filter_entry(is_wanted) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(&directory.path);
            cannot_read(
                path,
                &error.io_error().map_or_else(|| error.to_string(), strerror),
            )
        })?;
        found.push(found_below(&directory.path, &entry)?);
    }
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// An entry of a directory, by its name below the directory `top`.
fn found_below(top: &Path, entry: &DirEntry) -> Result<Extra> {
    let path = entry.path();
    let failed = |error: &std::io::Error| cannot_read(path, &strerror(error));
    let name = path.strip_prefix(top).unwrap_or(path);
    let mut name = BString::from(name.as_os_str().as_bytes());
    let kind = entry.file_type();
    let mut executable = false;
    let content = if kind.is_dir() {
        name.push(b'/');
        ExtraContent::Directory
    } else if kind.is_symlink() {
        let target = fs::read_link(path).map_err(|error| failed(&error))?;
        ExtraContent::Link(target.into_os_string().into_vec().into())
    } else if kind.is_file() {
        // Tells that it can be read, before the first byte.
        let file = File::open(path).map_err(|error| failed(&error))?;
        let metadata = file.metadata().map_err(|error| failed(&error))?;
        executable = is_executable(&metadata);
        ExtraContent::File(path.to_owned())
    } else {
        return Err(cannot_read(path, "not a file, link or directory"));
    };
    Ok(Extra {
        name,
        content,
        executable,
    })
}

fn is_executable(metadata: &Metadata) -> bool {
    metadata.mode() & 0o100 != 0
}

fn cannot_read(path: &Path, why: &str) -> Error {
    let values = [path.as_os_str().as_bytes(), why.as_bytes()];
    Error::fatal(format_bytes("cannot read '{}': {}", &values))
}
