//! Whose repository it is (git-config(1), `safe.directory`; `ensure_valid_ownership` of git's setup.c).
//!
//! A repository of a stranger could name commands in its configuration. Must run before that configuration is read.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use bstr::ByteSlice;
use rustix::process::geteuid;

use crate::{
    base::error::Result,
    git::config::{path::real_path, sources::Sources},
};

/// Whether `path` belongs to the user. For root, the user who called sudo counts as well.
pub(super) fn is_own(path: &Path, sudo_uid: Option<&OsStr>) -> bool {
    let Ok(found) = path.symlink_metadata() else {
        return false;
    };
    let user = geteuid();
    let caller = || sudo_uid?.to_str()?.parse::<u32>().ok();
    found.uid() == user.as_raw() || (user.is_root() && caller() == Some(found.uid()))
}

/// Whether the user has declared the repository with this work tree, or with this git directory if it has none, as safe. Only
/// the configuration of the system, of the user and of the command line counts.
pub(super) fn is_declared_safe(repository: &Path, sources: &Sources<'_>) -> Result<bool> {
    let Some(repository) = real_path(repository) else {
        return Ok(false);
    };
    let config = sources.read(None)?;
    let mut is_safe = false;
    for (subsection, name, value) in config.section("safe") {
        if subsection.is_some() || name != "directory" {
            continue;
        }
        match value.map(|value| value.as_bytes()) {
            None | Some(b"") => is_safe = false,
            Some(b"*") => is_safe = true,
            Some(value) => {
                let path = sources.paths().expand(value.as_bstr());
                is_safe |= path.is_some_and(|path| is_covered(&repository, &path, sources));
            }
        }
    }
    Ok(is_safe)
}

/// Whether the setting `path` means `repository`: itself, a directory above it and `/*`, or `.` at its top.
fn is_covered(repository: &Path, path: &Path, sources: &Sources<'_>) -> bool {
    let is_here = path == Path::new(".");
    if !path.is_absolute() && !is_here {
        return false;
    }
    let Some(path) = real_path(&sources.directory.join(path)) else {
        return false;
    };
    match path.as_os_str().as_bytes().strip_suffix(b"*") {
        Some(above) if above.ends_with(b"/") => {
            repository.as_os_str().as_bytes().starts_with(above)
        }
        _ => path == repository,
    }
}
