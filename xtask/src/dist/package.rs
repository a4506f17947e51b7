//! The packages of Debian and of RPM, made by cargo-deb and cargo-generate-rpm. `package.metadata` in `Cargo.toml` says what is in
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::target::Target;
use crate::layout::InstalledFile;
use crate::{binary, process};

/// A kind of package.
struct Kind {
    /// What the name of a package ends with.
    extension: &'static str,
    /// The program that makes packages, as a command of Cargo.
    command: &'static str,
    arguments: &'static [&'static str],
}

/// The program as it was built: no separate symbols.
const DEBIAN: Kind = Kind {
    extension: "deb",
    command: "deb",
    arguments: &["--no-build", "--no-strip", "--package=git-sluice"],
};
/// The static program needs no library, whose version a distribution would decide.
const RPM: Kind = Kind {
    extension: "rpm",
    command: "generate-rpm",
    arguments: &["--auto-req=disabled", "--payload-compress=gzip"],
};

/// Makes the package for `target` in `dist`, with `files` and the `program`; none without the tool that makes it.
pub(super) fn make(
    target: &Target,
    program: &Path,
    files: &[InstalledFile],
    dist: &Path,
    time: u64,
) -> Result<Option<PathBuf>> {
    let kind = if target.is_for_debian() {
        DEBIAN
    } else if target.is_static() {
        RPM
    } else {
        return Ok(None);
    };
    let tool = format!("cargo-{}", kind.command);
    if process::find_program(&tool).is_none() {
        let extension = kind.extension;
        println!("SKIP: no .{extension}: run 'cargo install --locked {tool}' to get one");
        return Ok(None);
    }
    // The tools take files from beside the program.
    let beside = program.parent().context("a file is in a folder")?;
    for file in files.iter().filter(|file| file.is_generated()) {
        file.write_below(beside)?;
    }
    let mut cargo = binary::cargo();
    cargo.arg(kind.command).args(kind.arguments);
    cargo
        .args(["--target", &target.triple, "--output"])
        .arg(dist);
    process::run(cargo.env("SOURCE_DATE_EPOCH", time.to_string()))?;
    Ok(Some(made(dist, kind.extension)?))
}

/// The one file in `dist` with this `extension`.
fn made(dist: &Path, extension: &str) -> Result<PathBuf> {
    let paths = fs::read_dir(dist)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    let package = paths.into_iter().find(is_package);
    package.with_context(|| format!("no .{extension} was made"))
}
