//! Temporary directories of unit tests. The name tells the process that made the directory, so that the tests of the
//! command remove the directories of killed runs (`tests/it/leftovers.rs`).

use std::process;

use tempfile::TempDir;

/// An empty directory.
pub fn directory() -> TempDir {
    let prefix = format!("git-sluice-test-{}-", process::id());
    let directory = tempfile::Builder::new().prefix(&prefix).tempdir();
    directory.expect("temporary directories can be made")
}
