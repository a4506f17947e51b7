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

/// Writes the script `text`, through another process: a program cannot be executed while any process has it open for writing, and
/// a process that another test starts holds copies of our handles for a moment.
#[cfg(test)]
pub(crate) fn write_script(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut shell = process::Command::new("sh");
    shell.args(["-c", r#"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"]);
    crate::process::quiet(shell.arg(path).arg(text)).map(drop)
}
