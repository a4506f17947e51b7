//! Finds the repository and its work tree as git does (setup.c; gitrepository-layout(5)).
//!
//! Must accept no repository that git refuses. The words of a refusal are git's where it counts: the caller asks the installed
//! git for them.

use std::{
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Component, Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use rustix::fs::{Access, access};

use super::{
    format::{Format, common_dir_in_files},
    no_repository::NoRepository,
    owner::{declared_safe, is_own},
};
use crate::{
    config::{path::real_path, sources::Sources},
    environment::Environment,
};
use sluice_base::error::{Error, format_bytes};

/// The name of the git directory in a work tree.
const DOT_GIT: &str = ".git";
/// The largest file `.git`, in bytes.
const MAX_GITFILE: u64 = 1 << 20;

/// A repository that was found, and the position in it. All paths are full paths.
pub(super) struct Discovery {
    /// The git directory.
    pub(super) git_dir: PathBuf,
    /// The git directory as git calls it, from the current directory as the user's shell calls it: links in it stay.
    pub(super) linked_git_dir: PathBuf,
    /// The directory that the repository shares with others, or the git directory.
    pub(super) common_dir: PathBuf,
    /// The directory in which git runs: the top of the work tree from anywhere inside it, else the current directory.
    pub(super) directory: PathBuf,
    /// The top of the work tree, if there is one.
    pub(super) work_tree: Option<PathBuf>,
    /// The current directory relative to the top: empty, or with a slash at its end.
    pub(super) prefix: BString,
    pub(super) format: Format,
    /// git's warnings about the settings that allow this repository.
    pub(super) warnings: Vec<BString>,
}

/// A git directory on the way up from the current directory.
struct Found {
    git_dir: PathBuf,
    /// The directory with the `.git` that is or names the git directory; `None` for a bare repository.
    top: Option<PathBuf>,
    /// Whether that `.git` is a file that names the git directory.
    is_file: bool,
    warnings: Vec<BString>,
}

type Result<T, E = NoRepository> = std::result::Result<T, E>;

/// Finds the repository that `environment` means.
pub(super) fn discover(environment: &Environment) -> Result<Discovery> {
    let search = Search(environment);
    match &environment.discovery.git_dir {
        Some(named) => search.named(named),
        None => search.found(search.walk_up()?),
    }
}

struct Search<'a>(&'a Environment);

impl Search<'_> {
    /// The repository of `GIT_DIR`. git does not check its owner.
    fn named(&self, named: &Path) -> Result<Discovery> {
        let cwd = &self.0.cwd;
        let given = cwd.join(named);
        let named_in_file = read_gitfile(&given).transpose()?;
        let linked = match &named_in_file {
            Some(git_dir) => real(git_dir),
            None => self.as_shell_says(cwd, named),
        };
        let git_dir = named_in_file.unwrap_or(given);
        if named.as_os_str().is_empty() || !self.is_git_directory(&git_dir)? {
            let shown = named.as_os_str().as_bytes();
            let refused = format_bytes("not a git repository: '{}'", &[shown]);
            return Err(NoRepository::NotFound(Error::fatal(refused)));
        }
        let format = self.format(&git_dir, cwd)?;
        self.with_work_tree((without_dots(&git_dir), linked), format, true)
    }

    /// The repository that was `found`.
    fn found(&self, found: Found) -> Result<Discovery> {
        let Found {
            git_dir,
            top,
            is_file,
            warnings,
        } = found;
        let cwd = &self.0.cwd;
        let place = top.as_ref().unwrap_or(&git_dir);
        let format = self.format(&git_dir, place)?;
        let names_work_tree = self.0.discovery.work_tree.is_some() || format.work_tree.is_some();
        let is_here = place == cwd;
        let linked = match &top {
            None if is_here => self.as_shell_says(cwd, Path::new(".")),
            Some(top)
                if !is_file && (is_here || !(names_work_tree || format.is_bare == Some(true))) =>
            {
                self.as_shell_says(top, Path::new(DOT_GIT))
            }
            _ => real(&git_dir),
        };
        let discovery = if names_work_tree {
            self.with_work_tree((git_dir, linked), format, top.is_some())
        } else {
            let top = top.filter(|_| format.is_bare != Some(true));
            self.at((git_dir, linked), format, top)
        };
        Ok(Discovery {
            warnings,
            ..discovery?
        })
    }

    /// The full path of `named` in `directory`, where git runs: from `PWD` if that is the same directory
    /// (`strbuf_add_absolute_path` of git).
    fn as_shell_says(&self, directory: &Path, named: &Path) -> PathBuf {
        let id = |path: &Path| path.metadata().ok().map(|it| (it.dev(), it.ino()));
        let shell = self.0.config.pwd.as_ref().map(|pwd| directory.join(pwd));
        let shell = shell.filter(|shell| id(shell).is_some() && id(shell) == id(directory));
        shell.unwrap_or_else(|| real(directory)).join(named)
    }

    /// The repository at `git_dir` with the work tree that variables and settings name. Without any, the current directory is the
    /// work tree if it `may_be_implied`.
    fn with_work_tree(
        &self,
        (git_dir, linked): (PathBuf, PathBuf),
        format: Format,
        may_be_implied: bool,
    ) -> Result<Discovery> {
        let (cwd, discovery) = (&self.0.cwd, &self.0.discovery);
        let is_implied =
            || Ok::<_, Error>(may_be_implied && discovery.implicit_work_tree.is_set(true)?);
        let top = match (&discovery.work_tree, &format.work_tree) {
            _ if discovery.is_served => None,
            (Some(named), _) if named.as_os_str().is_empty() => {
                return Err(Error::fatal("The empty string is not a valid path").into());
            }
            (Some(named), _) => Some(cwd.join(named)),
            (None, _) if format.is_bare == Some(true) => None,
            (None, Some(configured)) => self.configured_top(&git_dir, configured)?,
            (None, None) => is_implied()?.then(|| cwd.clone()),
        };
        let mut found = self.at((git_dir, linked), format, top)?;
        if !found.prefix.is_empty() {
            // git leaves the current directory, and so needs a path that leads there from everywhere.
            found.linked_git_dir = real(&found.git_dir);
        }
        Ok(found)
    }

    /// The work tree that the settings of the repository at `git_dir` name. Without a directory there, it is an error unless the
    /// work tree may be missing.
    fn configured_top(&self, git_dir: &Path, configured: &Path) -> Result<Option<PathBuf>> {
        let top = git_dir.join(configured);
        // git changes to a relative path, and computes with an absolute one.
        let real = if configured.is_absolute() {
            real_path(&top)
        } else if configured.as_os_str().is_empty() {
            None
        } else {
            top.canonicalize().ok()
        };
        match real {
            Some(real) => Ok(Some(real)),
            None if self.0.discovery.may_lack_work_tree => Ok(None),
            None => {
                let shown = configured.as_os_str().as_bytes();
                Err(Error::fatal(format_bytes("cannot chdir to '{}'", &[shown])).into())
            }
        }
    }

    /// The repository at `git_dir`, or by its path with links at `linked`, with the work tree `top`.
    fn at(
        &self,
        (git_dir, linked_git_dir): (PathBuf, PathBuf),
        format: Format,
        top: Option<PathBuf>,
    ) -> Result<Discovery> {
        let top = match top {
            Some(top) => Some(real_path(&top).ok_or_else(|| invalid_path(&top))?),
            None => None,
        };
        let cwd = self.0.cwd.canonicalize();
        let cwd = cwd.unwrap_or_else(|_| self.0.cwd.clone());
        let below = top.as_ref().and_then(|top| cwd.strip_prefix(top).ok());
        let directory = match (&top, below) {
            (Some(top), Some(_)) => top.clone(),
            _ => self.0.cwd.clone(),
        };
        let common_dir = match &self.0.discovery.common_dir {
            Some(named) => directory.join(named),
            None => common_dir_in_files(&git_dir)?.0,
        };
        Ok(Discovery {
            prefix: with_slash(below.unwrap_or(Path::new(""))),
            git_dir,
            linked_git_dir,
            common_dir,
            directory,
            work_tree: top,
            format,
            warnings: Vec::new(),
        })
    }

    /// Looks for a repository in the current directory and in those above it.
    fn walk_up(&self) -> Result<Found> {
        let cwd = &self.0.cwd;
        let lowest = self.lowest_ceiling(cwd);
        let device = |directory: &Path| Some(directory.metadata().ok()?.dev());
        let crosses = self.0.discovery.across_filesystems.is_set(false)?;
        let first = device(cwd).filter(|_| !crosses);
        for directory in cwd.ancestors() {
            let is_at_ceiling =
                lowest.is_some_and(|ceiling| directory.as_os_str().len() <= ceiling);
            if is_at_ceiling || (first.is_some() && device(directory) != first) {
                break;
            }
            if let Some(found) = self.in_directory(directory)? {
                return Ok(found);
            }
        }
        let refused = "not a git repository (or any of the parent directories): .git";
        Err(NoRepository::NotFound(Error::fatal(refused)))
    }

    /// The length of the longest path above `cwd` at which git stops before it looks there (`GIT_CEILING_DIRECTORIES`).
    fn lowest_ceiling(&self, cwd: &Path) -> Option<usize> {
        let list = self.0.discovery.ceilings.as_ref()?;
        let mut is_literal = false;
        let mut longest = None;
        for ceiling in list.as_bytes().split_str(":") {
            let path = Path::new(OsStr::from_bytes(ceiling));
            // After an empty one, links count as they are.
            is_literal |= ceiling.is_empty();
            let ceiling = if !path.is_absolute() {
                None
            } else if is_literal {
                Some(path.to_owned())
            } else {
                real_path(path)
            };
            let above = ceiling.filter(|ceiling| cwd != ceiling && cwd.starts_with(ceiling));
            longest = longest.max(above.map(|it| without_dots(&it).as_os_str().len()));
        }
        longest
    }

    /// The repository in `directory`, if there is one.
    fn in_directory(&self, directory: &Path) -> Result<Option<Found>> {
        let dot_git = directory.join(DOT_GIT);
        let mut is_file = false;
        let named = match dot_git.metadata() {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                None
            }
            Ok(found) if found.is_dir() => {
                self.is_git_directory(&dot_git)?.then(|| dot_git.clone())
            }
            Ok(found) if found.is_file() => {
                is_file = true;
                let git_dir =
                    read_gitfile(&dot_git).unwrap_or_else(|| Err(invalid_path(&dot_git)))?;
                if !self.is_git_directory(&git_dir)? {
                    let shown = git_dir.as_os_str().as_bytes();
                    let refused = format_bytes("not a git repository: {}", &[shown]);
                    return Err(Error::fatal(refused).into());
                }
                Some(git_dir)
            }
            Ok(_) | Err(_) => return Err(invalid_path(&dot_git).into()),
        };
        if let Some(git_dir) = named {
            let warnings = self.check_owner(directory, &[&dot_git, directory, &git_dir])?;
            return Ok(Some(Found {
                git_dir: real(&git_dir),
                top: Some(directory.to_owned()),
                is_file,
                warnings,
            }));
        }
        if !self.is_git_directory(directory)? {
            return Ok(None);
        }
        self.check_bare(directory)?;
        let warnings = self.check_owner(directory, &[directory])?;
        Ok(Some(Found {
            git_dir: directory.to_owned(),
            top: None,
            is_file: false,
            warnings,
        }))
    }

    /// Refuses the repository in `directory` if one of its `parts` belongs to a stranger, unless the user has declared it as
    /// safe. Returns git's warnings about these settings.
    fn check_owner(&self, directory: &Path, parts: &[&Path]) -> Result<Vec<BString>> {
        let sudo_uid = self.0.discovery.sudo_uid.as_deref();
        if parts.iter().all(|part| is_own(part, sudo_uid)) {
            return Ok(Vec::new());
        }
        declared_safe(directory, &self.protected())?
            .ok_or_else(|| NoRepository::NotFound(dubious(directory)))
    }

    /// Refuses a bare repository if the user wants those that are named alone (`safe.bareRepository`).
    fn check_bare(&self, directory: &Path) -> Result<()> {
        let config = self.protected().read(None)?;
        match config.value("safe.bareRepository") {
            None => Ok(()),
            Some(Some(value)) if value == "all" => Ok(()),
            Some(Some(value)) if value == "explicit" && is_implicit(directory) => Ok(()),
            Some(value) if value != Some(BStr::new("explicit")) => {
                Err(Error::fatal("bad config variable 'safe.barerepository'").into())
            }
            Some(_) => Err(NoRepository::NotFound(Error::fatal(format_bytes(
                "cannot use bare repository '{}' (safe.bareRepository is 'explicit')",
                &[directory.as_os_str().as_bytes()],
            )))),
        }
    }

    /// The configuration that counts before a repository is trusted.
    fn protected(&self) -> Sources<'_> {
        Sources {
            variables: &self.0.config,
            directory: &self.0.cwd,
            git: &self.0.location,
        }
    }

    /// The format of the repository at `git_dir`. A relative `GIT_COMMON_DIR` counts from `base`.
    fn format(&self, git_dir: &Path, base: &Path) -> Result<Format> {
        let (common_dir, is_linked) = match &self.0.discovery.common_dir {
            Some(named) => (base.join(named), true),
            None => common_dir_in_files(git_dir)?,
        };
        Format::read(git_dir, &common_dir, is_linked)
    }

    /// Whether git takes `directory` for a git directory.
    fn is_git_directory(&self, directory: &Path) -> Result<bool, Error> {
        is_git_directory(directory, self.0)
    }
}

/// Whether git takes `directory` for a git directory: it has a valid `HEAD`, objects and refs.
pub(super) fn is_git_directory(directory: &Path, environment: &Environment) -> Result<bool, Error> {
    if !has_sound_head(directory) {
        return Ok(false);
    }
    let cwd = &environment.cwd;
    let common_dir = match &environment.discovery.common_dir {
        Some(named) if named.as_os_str().is_empty() => PathBuf::from("/"),
        Some(named) => cwd.join(named),
        None => common_dir_in_files(directory)?.0,
    };
    let objects = match &environment.contents.object_directory {
        Some(named) if named.as_os_str().is_empty() => return Ok(false),
        Some(named) => cwd.join(named),
        None => common_dir.join("objects"),
    };
    let is_open = |path: &Path| access(path, Access::EXEC_OK).is_ok();
    Ok(is_open(&objects) && is_open(&common_dir.join("refs")))
}

/// Whether the `HEAD` of `git_dir` names a ref or holds an id (`validate_headref` of git's setup.c).
fn has_sound_head(git_dir: &Path) -> bool {
    let path = git_dir.join("HEAD");
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => fs::read_link(&path)
            .is_ok_and(|target| target.as_os_str().as_bytes().starts_with(b"refs/")),
        Ok(_) => {
            let head = fs::read(&path).unwrap_or_default();
            match head.strip_prefix(b"ref:") {
                Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
                None => {
                    let is_id = |len: usize| {
                        head.get(..len)
                            .is_some_and(|hex| ObjectId::from_hex(hex).is_ok())
                    };
                    is_id(40) || is_id(64)
                }
            }
        }
        Err(_) => false,
    }
}

/// The git directory that the file at `path` names. `None` if there is no file.
pub(super) fn read_gitfile(path: &Path) -> Option<Result<PathBuf, Error>> {
    let found = path.metadata().ok().filter(fs::Metadata::is_file)?;
    let parent = path.parent().unwrap_or(Path::new("/"));
    let invalid = || {
        let shown = path.as_os_str().as_bytes();
        Error::fatal(format_bytes("invalid gitfile format: {}", &[shown]))
    };
    if found.len() > MAX_GITFILE {
        return Some(Err(invalid()));
    }
    let text = fs::read(path).map_err(|error| invalid().caused_by(error));
    Some(text.and_then(|text| {
        let named = text.trim_end_with(|c| c == '\n' || c == '\r');
        let named = named.strip_prefix(b"gitdir: ").filter(|it| !it.is_empty());
        let named = named.ok_or_else(invalid)?;
        // A string of C ends at its first NUL.
        let named = named.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(parent.join(OsStr::from_bytes(named)))
    }))
}

/// Whether the bare repository at `path` is part of a repository that has a work tree.
fn is_implicit(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let is_part = |of: &str| bytes.contains_str(of);
    path.ends_with(DOT_GIT) || is_part("/.git/worktrees/") || is_part("/.git/modules/")
}

fn dubious(directory: &Path) -> Error {
    let shown = directory.as_os_str().as_bytes();
    Error::fatal(format_bytes(
        "detected dubious ownership in repository at '{}'",
        &[shown],
    ))
}

fn invalid_path(path: &Path) -> Error {
    let shown = path.as_os_str().as_bytes();
    Error::fatal(format_bytes("Invalid path '{}'", &[shown]))
}

/// The path without links.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The path without `.` in it.
fn without_dots(path: &Path) -> PathBuf {
    path.components()
        .filter(|it| *it != Component::CurDir)
        .collect()
}

fn with_slash(below: &Path) -> BString {
    let mut prefix = below.as_os_str().to_owned().into_vec();
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix.into()
}
