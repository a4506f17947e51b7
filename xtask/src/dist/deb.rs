//! The Debian package, by cargo-deb. What is in it says `package.metadata.deb` in `Cargo.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::target::Target;
use crate::layout::InstalledFile;
use crate::{binary, process};

/// Makes the package of `program` in `dist`; none without cargo-deb.
pub(super) fn make(
    target: &Target,
    program: &Path,
    files: &[InstalledFile],
    dist: &Path,
    time: u64,
) -> Result<Option<PathBuf>> {
    let version = Command::new("cargo-deb").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("SKIP: no Debian package: run 'cargo install --locked cargo-deb' to get one");
        return Ok(None);
    }
    // cargo-deb takes files from beside the program.
    let beside = program.parent().context("a file is in a folder")?;
    for file in files.iter().filter(|file| file.is_generated()) {
        file.write_below(beside)?;
    }
    let mut deb = binary::cargo();
    deb.args(["deb", "--no-build", "--package=git-sluice", "--target"]);
    deb.arg(&target.triple).arg("--output").arg(dist);
    // From the program as it was built: no separate symbols.
    process::run(
        deb.arg("--no-strip")
            .env("SOURCE_DATE_EPOCH", time.to_string()),
    )?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|it| it == "deb");
    let paths = fs::read_dir(dist)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let package = paths.into_iter().find(is_package);
    ensure!(package.is_some(), "cargo-deb made no package");
    Ok(package)
}
