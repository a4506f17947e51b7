//! Whether a release installs and works where nothing else is: in the root directory of a bare system.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Release;
use crate::process;

/// What the shell of the bare system does with each file.
const SCRIPT: &str = include_str!("bare.sh");

/// Installs each file of `release` in the system below `root`, in turn, and archives a repository with the program.
pub(super) fn install(release: &Release, root: &Path) -> Result<()> {
    let place = root.join("release");
    fs::create_dir_all(&place)?;
    for path in &release.made {
        let name = path.file_name().context("a file has a name")?;
        fs::copy(path, place.join(name))?;
    }
    let mut shell = Command::new("chroot");
    shell.arg(root).args(["sh", "-c", SCRIPT, "sh"]);
    let result = process::run(shell.args([&release.version, &release.commit]));
    fs::remove_dir_all(place)?;
    result
}
