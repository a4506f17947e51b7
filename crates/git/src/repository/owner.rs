//! Whose repository it is (git-config(1), `safe.directory`; `ensure_valid_ownership` of git's setup.c).
//!
//! A repository of a stranger could name commands in its configuration. Must run before that configuration is read.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use bstr::{BString, ByteSlice};
use rustix::process::geteuid;

use crate::config::{path::real_path, sources::Sources};
use sluice_base::error::{Result, format_bytes};

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
/// the configuration of the system, of the user and of the command line counts. Returns git's warnings about these settings,
/// or `None` for a repository that is not safe.
pub(super) fn declared_safe(
    repository: &Path,
    sources: &Sources<'_>,
) -> Result<Option<Vec<BString>>> {
    let Some(repository) = real_path(repository) else {
        return Ok(None);
    };
    let config = sources.read(None)?;
    let (mut is_safe, mut warnings) = (false, Vec::new());
    for (subsection, name, value) in config.section("safe") {
        if subsection.is_some() || name != "directory" {
            continue;
        }
        match value.map(|value| value.as_bytes()) {
            None | Some(b"") => is_safe = false,
            Some(b"*") => is_safe = true,
            Some(value) => {
                let path = sources
                    .paths()
                    .path_of_value(value.as_bstr(), sources.directory)?;
                is_safe |=
                    path.is_some_and(|path| is_covered(&repository, &path, sources, &mut warnings));
            }
        }
    }
    Ok(is_safe.then_some(warnings))
}

/// Whether the setting `path` means `repository`: itself, a directory above it and `/*`, or `.` at its top. As in git, paths
/// are compared byte by byte: `./` is not `.`.
fn is_covered(
    repository: &Path,
    path: &Path,
    sources: &Sources<'_>,
    warnings: &mut Vec<BString>,
) -> bool {
    let given = path.as_os_str().as_bytes();
    if !given.starts_with(b"/") && given != b"." {
        warnings.push(format_bytes("safe.directory '{}' not absolute", &[given]));
        return false;
    }
    let Some(path) = real_path(&sources.directory.join(path)) else {
        return false;
    };
    let (repository, path) = (
        repository.as_os_str().as_bytes(),
        path.as_os_str().as_bytes(),
    );
    match path.strip_suffix(b"*") {
        Some(above) if above.ends_with(b"/") => repository.starts_with(above),
        _ => path == repository,
    }
}
