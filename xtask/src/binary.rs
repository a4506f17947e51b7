//! The program that is measured: git-sluice as it is shipped, built from this work tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Builds what users get, and returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    process::run(cargo().args([
        "build",
        "--release",
        "--package=git-sluice",
        "--bin=git-sluice",
    ]))?;
    install(&Workspace::find()?.target)
}

/// The folder of the source.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `cargo`, in the folder of the source.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// What cargo says about this work tree.
pub(crate) struct Workspace {
    /// The target folder.
    pub(crate) target: PathBuf,
    /// The version of git-sluice.
    pub(crate) version: String,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let mut cargo = cargo();
        let metadata = cargo.args(["metadata", "--format-version=1", "--no-deps"]);
        let metadata: serde_json::Value = serde_json::from_str(&process::text(metadata)?)?;
        let target = metadata["target_directory"]
            .as_str()
            .context("cargo names no target folder")?;
        let packages = metadata["packages"]
            .as_array()
            .context("cargo names no packages")?;
        let package = packages
            .iter()
            .find(|package| package["name"] == "git-sluice");
        let version = package.and_then(|package| package["version"].as_str());
        Ok(Self {
            target: target.into(),
            version: version.context("cargo names no version")?.to_owned(),
        })
    }
}

/// A copy, as an installation makes one. What the linker wrote lies in the kernel's cache page by page, until
/// it is read from the disk again, and takes a twentieth longer to start.
fn install(folder: &Path) -> Result<PathBuf> {
    let built = folder.join("release/git-sluice");
    let directory = folder.join("installed");
    fs::create_dir_all(&directory)?;
    let new = directory.join("git-sluice.new");
    fs::write(&new, fs::read(&built)?)?;
    fs::set_permissions(&new, fs::metadata(&built)?.permissions())?;
    let installed = directory.join("git-sluice");
    fs::rename(new, &installed)?;
    Ok(installed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::cargo;
    use crate::process;

    /// The packages that are built with `selection`, each with its features.
    fn packages(selection: &[&str]) -> BTreeSet<(String, String)> {
        let mut cargo = cargo();
        cargo.args(["tree", "--locked", "--offline", "--edges=normal,build"]);
        cargo.args(["--prefix=none", "--no-dedupe", "--format={p}|{f}"]);
        let tree = process::text(cargo.args(selection)).expect("cargo tells");
        let lines = tree.lines().filter_map(|line| line.split_once('|'));
        lines
            .map(|(package, features)| (package.to_owned(), features.to_owned()))
            .collect()
    }

    /// `cargo run --bin git-sluice` chooses features for the tasks as well, `cargo install` and a release for the program
    /// alone. Both build the same program, and compile nothing twice.
    #[test]
    fn the_tasks_add_no_feature_to_the_program() {
        let alone = packages(&["--package=git-sluice"]);
        let is_shared = |name: &String| alone.iter().any(|(other, _)| other == name);
        let mut all = packages(&[]);
        all.retain(|(name, _)| is_shared(name));
        assert_eq!(all, alone);
    }
}
