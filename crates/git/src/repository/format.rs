//! The format of a repository (gitrepository-layout(5), "config"; `read_and_verify_repository_format` of git's setup.c): its
//! version, its extensions, and the settings that decide about the work tree.
//!
//! Must look at the files of the repository alone: neither includes nor other files count here.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;

use super::no_repository::NoRepository;
use crate::{
    config::{
        Variable,
        sources::read_file,
        value::{integer, missing_value},
    },
    refs::RefStorage,
};
use sluice_base::error::{Error, Result, format_bytes};

/// The newest version of the format that git knows.
const NEWEST: i64 = 1;
/// Extensions that count in each version of the format.
const OF_ALL_VERSIONS: [&str; 4] = ["noop", "preciousobjects", "partialclone", "worktreeconfig"];
/// Extensions that a repository of version 0 must not have.
const OF_VERSION_1: [&str; 6] = [
    "noop-v1",
    "objectformat",
    "compatobjectformat",
    "refstorage",
    "relativeworktrees",
    "submodulepathconfig",
];

/// Where git may have refs.
const REF_STORAGES: [&[u8]; 2] = [b"files", b"reftable"];

/// The format of a repository, and the variables of its own files.
pub(super) struct Format {
    /// The variables of `config`, then those of `config.worktree`.
    pub(super) variables: Vec<Variable>,
    /// The hash function of object ids.
    pub(super) hash: Kind,
    /// Where refs are, as it is written (`extensions.refStorage`).
    pub(super) ref_storage: Option<BString>,
    /// Whether there is no work tree (`core.bare`), if the repository says so.
    pub(super) is_bare: Option<bool>,
    /// `core.worktree`
    pub(super) work_tree: Option<PathBuf>,
}

impl Format {
    /// Reads the format of the repository at `git_dir`, which shares `common_dir` with others if it `is_linked`.
    pub(super) fn read(
        git_dir: &Path,
        common_dir: &Path,
        is_linked: bool,
    ) -> Result<Self, NoRepository> {
        let mut format = Self {
            variables: read_file(&common_dir.join("config"), false)?,
            hash: Kind::Sha1,
            ref_storage: None,
            is_bare: None,
            work_tree: None,
        };
        let version = format.version()?;
        let has_own = version.is_some() && format.read_extensions(version)?;
        if has_own {
            let own = read_file(&git_dir.join("config.worktree"), false)?;
            format.read_work_tree(&own)?;
            format.variables.extend(own);
        }
        if version.is_none() || (is_linked && !has_own) {
            // The repository that others share, or one that git did not create, decides nothing about this work tree.
            (format.is_bare, format.work_tree) = (None, None);
        }
        Ok(format)
    }

    fn version(&self) -> Result<Option<i64>, NoRepository> {
        const KEY: &str = "core.repositoryformatversion";
        let mut version = None;
        for variable in self.variables.iter().filter(|it| it.key == KEY) {
            version = Some(integer(KEY, required(variable)?)?);
        }
        match version {
            Some(found) if found > NEWEST => {
                let refused = format!("Expected git repo version <= {NEWEST}, found {found}");
                Err(NoRepository::NotFound(Error::fatal(refused)))
            }
            _ => Ok(version.filter(|version| *version >= 0)),
        }
    }

    /// Reads the settings of a repository of this `version`. Returns whether each work tree has a configuration of its own.
    fn read_extensions(&mut self, version: Option<i64>) -> Result<bool, NoRepository> {
        let variables = std::mem::take(&mut self.variables);
        let (mut unknown, mut newer) = (Vec::new(), Vec::new());
        let mut has_own = false;
        for variable in &variables {
            let Some(name) = variable.key.strip_prefix(b"extensions.") else {
                continue;
            };
            let is_in = |names: &[&str]| names.iter().any(|known| name == known.as_bytes());
            if is_in(&OF_ALL_VERSIONS) {
            } else if is_in(&OF_VERSION_1) {
                newer.push(name.as_bstr())
            } else {
                unknown.push(name.as_bstr())
            }
            match name {
                b"preciousobjects" | b"relativeworktrees" | b"submodulepathconfig" => {
                    variable.truth()?;
                }
                b"partialclone" => {
                    required(variable)?;
                }
                b"worktreeconfig" => has_own = variable.truth()?,
                b"objectformat" => self.hash = hash(variable)?,
                b"compatobjectformat" => {
                    hash(variable)?;
                }
                b"refstorage" => {
                    let storage = required(variable)?;
                    if !REF_STORAGES.contains(&ref_storage(storage).0) {
                        return Err(invalid(variable).into());
                    }
                    self.ref_storage = Some(storage.to_owned());
                }
                _ => {}
            }
        }
        let refused = match version {
            Some(0) => ("repo version is 0, but v1-only extension", newer),
            _ => ("unknown repository extension", unknown),
        };
        refuse(refused).map_err(NoRepository::NotFound)?;
        self.read_work_tree(&variables)?;
        self.variables = variables;
        Ok(has_own)
    }

    fn read_work_tree(&mut self, variables: &[Variable]) -> Result<()> {
        for variable in variables {
            if variable.key == "core.bare" {
                self.is_bare = Some(variable.truth()?);
            } else if variable.key == "core.worktree" {
                self.work_tree = Some(OsStr::from_bytes(required(variable)?).into());
            }
        }
        Ok(())
    }

    /// Where the refs of the repository at `git_dir` are, unless a variable names another place (`GIT_REFERENCE_BACKEND`).
    pub(super) fn refs(&self, git_dir: &Path, named: Option<&OsStr>) -> Result<RefStorage> {
        let named = named.map(|named| named.as_bytes().as_bstr());
        let named = named.or(self.ref_storage.as_ref().map(|it| it.as_bstr()));
        let storage = named.unwrap_or(BStr::new("files"));
        let (kind, place) = ref_storage(storage);
        let (common_dir, is_linked) = common_dir_in_files(git_dir)?;
        match (kind, place) {
            (b"files", None) => Ok(RefStorage::Files(git_dir.to_owned(), common_dir)),
            (b"files", Some(place)) => {
                let place = common_dir.join(OsStr::from_bytes(place));
                let name = git_dir.file_name().filter(|_| is_linked);
                let own = name.map(|name| place.join("worktrees").join(name));
                Ok(RefStorage::Files(
                    own.unwrap_or_else(|| place.clone()),
                    place,
                ))
            }
            (b"reftable", _) => Ok(RefStorage::Unreadable),
            _ => Err(Error::fatal(format_bytes(
                "unknown ref storage format: '{}'",
                &[kind],
            ))),
        }
    }
}

/// The directory that the repository at `git_dir` shares with others, by its file `commondir`, and whether it has that file.
pub(super) fn common_dir_in_files(git_dir: &Path) -> Result<(PathBuf, bool)> {
    let path = git_dir.join("commondir");
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(_) if path.symlink_metadata().is_err() => return Ok((git_dir.to_owned(), false)),
        Err(error) => {
            let shown = path.as_os_str().as_bytes();
            return Err(Error::fatal(format_bytes("failed to read {}", &[shown])).caused_by(error));
        }
    };
    let named = text.trim_end_with(|c| c == '\n' || c == '\r');
    let common_dir = git_dir.join(OsStr::from_bytes(named));
    let real = common_dir.canonicalize().unwrap_or(common_dir);
    Ok((real, true))
}

/// Fails if there are extensions that must not be.
fn refuse((what, names): (&str, Vec<&BStr>)) -> Result<()> {
    let plural = match names.len() {
        0 => return Ok(()),
        1 => "",
        _ => "s",
    };
    let lines: Vec<_> = names.iter().map(|name| format!("\n\t{name}")).collect();
    Err(Error::fatal(format!(
        "{what}{plural} found:{}",
        lines.concat()
    )))
}

fn required(variable: &Variable) -> Result<&BStr> {
    let value = variable.value.as_ref().map(|value| value.as_bstr());
    value.ok_or_else(|| missing_value(&variable.key.to_str_lossy()))
}

/// The hash function that an extension names.
fn hash(variable: &Variable) -> Result<Kind> {
    match required(variable)?.as_bytes() {
        b"sha1" => Ok(Kind::Sha1),
        b"sha256" => Ok(Kind::Sha256),
        _ => Err(invalid(variable)),
    }
}

/// The kind of a storage of refs, and its place.
fn ref_storage(storage: &BStr) -> (&[u8], Option<&[u8]>) {
    match storage.split_once_str("://") {
        Some((kind, place)) => (kind, Some(place)),
        None => (storage.as_bytes(), None),
    }
}

fn invalid(variable: &Variable) -> Error {
    let value = variable.value.clone().unwrap_or_default();
    Error::fatal(format_bytes(
        "invalid value for '{}': '{}'",
        &[&variable.key, &value],
    ))
}
