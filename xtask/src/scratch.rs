//! Temporary directories. The name tells the process that made the directory, so that the tests of the command remove the
//! directories of killed runs (`tests/it/leftovers.rs`).

use std::io;
use std::path::Path;
use std::process;

use tempfile::TempDir;

/// An empty directory.
pub(crate) fn directory() -> io::Result<TempDir> {
    directory_in(&std::env::temp_dir())
}

/// An empty directory in `place`.
pub(crate) fn directory_in(place: &Path) -> io::Result<TempDir> {
    let prefix = format!("git-sluice-test-{}-", process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(place)
}
