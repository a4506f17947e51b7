//! The part of git's environment that matters for an archive, read once.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::bstr::{BStr, BString, ByteSlice};

use super::settings::truth;
use crate::{
    base::{
        error::{Error, Result, format_bytes},
        working_directory::WorkingDirectory,
    },
    git::{
        pathspec::Defaults,
        program::{self, GitLocation},
    },
};

/// The variable that forbids to fetch missing objects.
pub const NO_LAZY_FETCH: &str = "GIT_NO_LAZY_FETCH";

/// The variables of git(1) that matter for an archive and that gix ignores.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The current directory, by its full path.
    pub cwd: PathBuf,
    /// `GIT_DIR`
    pub git_dir: Option<PathBuf>,
    /// Whether `GIT_WORK_TREE` is set.
    pub has_work_tree: bool,
    /// Whether the current directory is the work tree if `GIT_DIR` is set and no work tree is named
    /// (`GIT_IMPLICIT_WORK_TREE`).
    pub implicit_work_tree: bool,
    /// Whether the repository is served to a client, who sees no work tree, whatever the settings claim.
    pub is_served: bool,
    /// `GIT_CEILING_DIRECTORIES`
    pub ceilings: Vec<PathBuf>,
    /// `GIT_OBJECT_DIRECTORY`
    pub object_directory: Option<PathBuf>,
    /// `GIT_ALTERNATE_OBJECT_DIRECTORIES`
    pub alternates: Option<OsString>,
    /// `GIT_NO_REPLACE_OBJECTS`
    pub no_replace_objects: bool,
    /// `GIT_REPLACE_REF_BASE`, which may be empty.
    pub replace_ref_base: Option<OsString>,
    /// The settings of `git -c`: `key=value` or `key`.
    pub config: Vec<BString>,
    /// The default syntax of pathspecs.
    pub pathspecs: Defaults,
    /// `GIT_ATTR_SOURCE`
    pub attr_source: Option<OsString>,
    /// The repository, for programs that are asked about it.
    pub location: GitLocation,
    /// `GIT_NO_LAZY_FETCH`
    pub no_lazy_fetch: bool,
    /// `GIT_SLUICE_CACHE`, which may be empty.
    pub cache: Option<PathBuf>,
    /// `GIT_SLUICE_LOG`, which may be empty.
    pub log: Option<PathBuf>,
    /// `GIT_TRACE2_EVENT`, and `GIT_TRACE2_PARENT_SID`.
    pub trace2: Option<(OsString, Option<OsString>)>,
}

impl Environment {
    /// Read the environment through `variable`, for a process in the directory `cwd`.
    pub fn read(cwd: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let flag = |name: &str| match variable(name) {
            Some(value) => boolean(name, value.as_bytes().as_bstr()),
            None => Ok(false),
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let config = match set("GIT_CONFIG_PARAMETERS") {
            None => Vec::new(),
            Some(list) => parse_parameters(list.as_bytes())
                .ok_or_else(|| Error::fatal("bogus format in GIT_CONFIG_PARAMETERS"))?,
        };
        let mut keys = config
            .iter()
            .filter_map(|parameter| parameter.split_str("=").next());
        if let Some(key) = keys.find(|key| !key.contains(&b'.')) {
            return Err(
                Error::fatal("unable to parse command-line config").after(format_bytes(
                    "error: key does not contain a section: {}",
                    &[key],
                )),
            );
        }
        Ok(Self {
            cwd,
            git_dir: set("GIT_DIR").map(PathBuf::from),
            has_work_tree: set("GIT_WORK_TREE").is_some(),
            implicit_work_tree: variable("GIT_IMPLICIT_WORK_TREE").is_none()
                || flag("GIT_IMPLICIT_WORK_TREE")?,
            is_served: false,
            ceilings: set("GIT_CEILING_DIRECTORIES")
                .map(|list| {
                    std::env::split_paths(&list)
                        .filter(|path| path.is_absolute())
                        .collect()
                })
                .unwrap_or_default(),
            object_directory: set("GIT_OBJECT_DIRECTORY").map(PathBuf::from),
            alternates: set("GIT_ALTERNATE_OBJECT_DIRECTORIES"),
            no_replace_objects: variable("GIT_NO_REPLACE_OBJECTS").is_some(),
            replace_ref_base: variable("GIT_REPLACE_REF_BASE"),
            config,
            pathspecs: Defaults {
                literal: flag("GIT_LITERAL_PATHSPECS")?,
                glob: flag("GIT_GLOB_PATHSPECS")?,
                noglob: flag("GIT_NOGLOB_PATHSPECS")?,
                icase: flag("GIT_ICASE_PATHSPECS")?,
            },
            location: GitLocation::default(),
            attr_source: variable("GIT_ATTR_SOURCE"),
            no_lazy_fetch: flag(NO_LAZY_FETCH)?,
            cache: variable("GIT_SLUICE_CACHE").map(PathBuf::from),
            log: variable("GIT_SLUICE_LOG").map(PathBuf::from),
            trace2: set("GIT_TRACE2_EVENT").map(|target| (target, set("GIT_TRACE2_PARENT_SID"))),
        })
    }
}

impl Environment {
    /// Reads the environment of a request in the directory `cwd`, which is not that of the process. The request may name a git
    /// directory from there, instead of `GIT_DIR`.
    pub fn of_request(
        cwd: PathBuf,
        git_dir: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self> {
        let location = GitLocation {
            directory: WorkingDirectory::Other(cwd.clone()),
            git_dir: git_dir.map(|git_dir| cwd.join(git_dir)),
            work_tree: None,
        };
        let environment = Self::read(cwd, variable)?;
        Ok(Self {
            git_dir: location.git_dir.clone().or(environment.git_dir),
            location,
            ..environment
        })
    }

    /// The environment of the repository with this git directory: the user's settings, and nothing that belongs to
    /// the repository in which the program was called.
    pub fn of_submodule(&self, git_dir: PathBuf) -> Self {
        Self {
            cwd: self.cwd.clone(),
            location: GitLocation {
                directory: self.directory().clone(),
                git_dir: Some(git_dir.clone()),
                // git refuses a git directory whose work tree is gone.
                work_tree: Some(git_dir.clone()),
            },
            git_dir: Some(git_dir),
            config: self.config.clone(),
            pathspecs: self.pathspecs,
            no_lazy_fetch: self.no_lazy_fetch,
            no_replace_objects: self.no_replace_objects,
            ..Self::default()
        }
    }

    /// The current directory, for files that are named from there.
    pub fn directory(&self) -> &WorkingDirectory {
        &self.location.directory
    }

    /// The keys that were given without a value.
    pub fn bare_keys(&self) -> impl Iterator<Item = &BStr> {
        let keys = self.config.iter().map(|parameter| parameter.as_bstr());
        keys.filter(|parameter| !parameter.contains(&b'='))
    }

    /// The configuration that applies outside any repository.
    pub fn config(&self) -> Result<gix::config::File> {
        let mut config = gix::config::File::from_globals().map_err(|error| {
            let unreadable = || Error::fatal("cannot read the configuration").caused_by(error);
            program::repository_refusal(&self.location).unwrap_or_else(unreadable)
        })?;
        for parameter in &self.config {
            let (key, value) = match parameter.split_once_str("=") {
                Some((key, value)) => (key, value),
                // A key without a value is a boolean that is true.
                None => (&parameter[..], &b"true"[..]),
            };
            let set = config.set_raw_value(key.as_bstr(), value.as_bstr());
            set.map_err(|error| {
                Error::fatal(format_bytes("bad config '{}'", &[key])).caused_by(error)
            })?;
        }
        Ok(config)
    }
}

/// Parse the boolean `value` of the variable `name`.
fn boolean(name: &str, value: &BStr) -> Result<bool> {
    truth(name, value).map_err(|_| {
        let template = "bad boolean environment value '{}' for '{}'";
        Error::fatal(format_bytes(template, &[value, name.as_bytes()]))
    })
}

/// Parse `'a.b'='c' 'flag' 'old.style=x'`, the form of `git -c`: words in single quotes. A quote or an
/// exclamation mark is written outside the quotes, after a backslash.
fn parse_parameters(mut list: &[u8]) -> Option<Vec<BString>> {
    let mut parameters = Vec::new();
    loop {
        list = list.trim_ascii_start();
        if list.is_empty() {
            return Some(parameters);
        }
        let mut parameter = quoted(&mut list)?;
        if let Some(rest) = list.strip_prefix(b"=") {
            list = rest;
            // An empty value is quoted.
            if list.first() == Some(&b'\'') {
                parameter.push(b'=');
                parameter.extend(quoted(&mut list)?);
            }
        }
        parameters.push(parameter.into());
    }
}

fn quoted(list: &mut &[u8]) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    loop {
        *list = list.strip_prefix(b"'")?;
        let end = list.find_byte(b'\'')?;
        word.extend_from_slice(&list[..end]);
        *list = &list[end + 1..];
        match *list {
            [b'\\', escaped @ (b'\'' | b'!'), b'\'', ..] => {
                word.push(*escaped);
                *list = &list[2..];
            }
            _ => return Some(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use gix::bstr::BString;

    use super::parse_parameters;

    #[test]
    fn parameters_are_unquoted() {
        let list = br"'a.b'='c d' 'flag' 'old.style=x' 'q'='it'\''s'\!'' 'empty'='' 'on'=";
        let expected = ["a.b=c d", "flag", "old.style=x", "q=it's!", "empty=", "on"];
        assert_eq!(
            parse_parameters(list).as_deref(),
            Some(&expected.map(BString::from)[..])
        );
        assert_eq!(parse_parameters(b"bare"), None);
        assert_eq!(parse_parameters(b"'open"), None);
    }
}
