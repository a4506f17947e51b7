//! Where the repositories of submodules are: below the git directory of the superproject, or in its work tree
//! (gitsubmodules(7)).
//!
//! Must not follow a name or a path of the tree to any other place, and must not change anything.

use std::{
    ffi::OsStr,
    fs,
    io::{self, ErrorKind},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use bstr::{BStr, ByteSlice};

use super::Repository;
use sluice_base::error::{Error, Result, format_bytes};

/// The repositories in which the submodule `name` may be that is at `path` of the tree, in the order in which they are
/// tried.
pub fn candidates(superproject: &Repository, name: &BStr, path: &[u8]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for directory in absorbed(superproject, name)? {
        if is_git_directory(&directory) && !found.contains(&directory) {
            found.push(directory);
        }
    }
    if let Some(top) = &superproject.work_tree {
        found.extend(embedded(top, path).filter(|directory| is_git_directory(directory)));
    }
    for directory in &found {
        check_owner(superproject, directory)?;
    }
    Ok(found)
}

/// The places below the git directory of the superproject, or the one place that its configuration names.
fn absorbed(superproject: &Repository, name: &BStr) -> Result<Vec<PathBuf>> {
    let config = &superproject.config;
    let (git_dir, common_dir) = (&superproject.git_dir, &superproject.common_dir);
    if config.is_true("extensions.submodulePathConfig") {
        let key = format!("submodule.{name}.gitdir");
        let directory = config.string(&key);
        let directory = directory.ok_or_else(|| {
            let template = "the 'submodule.{}.gitdir' config does not exist for module '{}'";
            Error::fatal(format_bytes(template, &[name, name]))
        })?;
        let from = superproject.work_tree.as_deref().unwrap_or(git_dir);
        return Ok(vec![from.join(OsStr::from_bytes(directory))]);
    }
    let mut places = Vec::new();
    for git_dir in [git_dir, common_dir] {
        let modules = git_dir.join("modules");
        refuse_inner(&modules, name)?;
        places.push(below(&modules, name));
    }
    Ok(places)
}

/// The directory `name` below `modules`, even if the name begins with a slash.
fn below(modules: &Path, name: &[u8]) -> PathBuf {
    let mut path = modules.as_os_str().to_owned();
    path.push("/");
    path.push(OsStr::from_bytes(name));
    path.into()
}

/// Refuses a submodule in the git directory of another one, where any file of the latter could pass for a repository:
/// git's `validate_submodule_git_dir`.
fn refuse_inner(modules: &Path, name: &BStr) -> Result<()> {
    let slashes = name.find_iter(b"/");
    let mut outer = slashes.map(|slash| below(modules, &name[..slash]));
    let Some(outer) = outer.find(|directory| is_git_directory(directory)) else {
        return Ok(());
    };
    let inner = below(modules, name);
    let paths = [inner.as_os_str().as_bytes(), outer.as_os_str().as_bytes()];
    let refused = "submodule git dir '{}' is inside git dir '{}'";
    Err(Error::fatal(format_bytes(refused, &paths)))
}

/// The repository that `.git` at `path` of the work tree `top` is or names.
fn embedded(top: &Path, path: &[u8]) -> Option<PathBuf> {
    let mut directory = top.to_owned();
    for part in path.split_str("/") {
        directory.push(OsStr::from_bytes(part));
        // A link may lead anywhere.
        if !directory.symlink_metadata().is_ok_and(|file| file.is_dir()) {
            return None;
        }
    }
    let git = directory.join(".git");
    let kind = git.symlink_metadata().ok()?;
    if kind.is_dir() {
        Some(git)
    } else if kind.is_file() {
        let text = fs::read(git).ok()?;
        let named = text.strip_prefix(b"gitdir: ")?.trim_end();
        Some(directory.join(OsStr::from_bytes(named)))
    } else {
        None
    }
}

/// Whether git takes `directory` for a git directory.
pub fn is_git_directory(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Refuses a repository of a stranger, whose configuration names commands: it has to belong to the user or to the owner
/// of the superproject.
pub(super) fn check_owner(superproject: &Repository, directory: &Path) -> Result<()> {
    let owner = |path: &Path| -> io::Result<u32> { Ok(path.metadata()?.uid()) };
    let is_own = || -> io::Result<bool> {
        let own = [
            rustix::process::geteuid().as_raw(),
            owner(&superproject.git_dir)?,
        ];
        Ok(own.contains(&owner(directory)?))
    };
    match is_own() {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) | Err(_) => {
            let shown = directory.as_os_str().as_bytes();
            let refused =
                format_bytes("detected dubious ownership in repository at '{}'", &[shown]);
            Err(Error::fatal(refused)
                .hinted("--submodule-git-dir=<path>=<git dir> names it explicitly"))
        }
    }
}
