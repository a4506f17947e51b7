//! The repository, opened as git opens it, and the settings that matter for archives.
//!
//! What the environment and the configuration mean is decided here, as in git's setup.c, and gix is not asked. Where the answer
//! depends on more than files that this crate reads, the installed git is asked, so that no repository is unsupported and every
//! message is git's.

mod ahead;
pub mod attr_source;
mod config_check;
pub mod date;
mod describe_name;
mod discover;
mod file_stamps;
mod format;
pub mod gitmodules;
pub mod host;
mod host_url;
pub mod pool;
pub mod lfs;
mod no_repository;
mod object_name;
mod peel;
mod open;
mod owner;
pub mod promisor;
pub mod promisors;
pub mod reach;
pub mod replacements;
mod rev_parse;
pub mod served;
pub mod settings;
mod shallow;
pub mod submodules;
pub mod tags;
pub mod treeish;

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc};

use bstr::{BString, ByteSlice};
use gix_hash::Kind;

use crate::{
    config::{Config, Variable},
    environment::{Environment, EnvironmentFlag},
    odb::{self, Odb, Replacements},
    program::{self, GitLocation},
    refs::Refs,
};
use settings::RepositorySettings;
use shallow::Shallow;
use sluice_base::error::{Error, Result, format_bytes, push_line};

/// The sections of the configuration that change no byte of an archive.
const KEPT: [&str; 7] = [
    "extensions",
    "lfs",
    "remote",
    "sluice",
    "submodule",
    "uploadarchive",
    "url",
];

/// An open repository. Clones share what is open.
#[derive(Clone)]
pub struct Repository {
    /// The git directory, by its full path.
    pub git_dir: PathBuf,
    /// The directory that linked work trees share, or the git directory, by its full path.
    pub common_dir: PathBuf,
    /// The whole configuration.
    pub config: Arc<Config>,
    /// git's messages about a repository and a configuration that it accepts.
    pub messages: BString,
    /// The refs.
    pub refs: Refs,
    /// The settings of the configuration.
    pub settings: RepositorySettings,
    /// The settings of the object database.
    pub objects: odb::Config,
    /// The current directory relative to the top of the work tree: empty, or with a slash at its end.
    pub prefix: BString,
    /// The directory in which git runs: the top of the work tree from anywhere inside it, else the current directory.
    pub directory: PathBuf,
    /// The top of the work tree, if there is one.
    pub work_tree: Option<PathBuf>,
    /// Whether there is no work tree, and no setting claims one.
    pub is_bare: bool,
    /// The repository, for programs that run in it.
    pub location: GitLocation,
    /// The commits without parents of a shallow clone.
    shallow: Shallow,
    /// The commits whose parents are replaced (`info/grafts`).
    graft_file: PathBuf,
    /// Whether git doubts its commit-graph.
    commit_graph_paranoia: EnvironmentFlag,
    /// The object database of an earlier run, with the packs that were open then.
    kept_odb: Option<Odb>,
}

impl Repository {
    /// Open the repository of the current directory or of `GIT_DIR`, and read its settings.
    ///
    /// Invalid settings are an error at once. The error of a missing repository is for the caller, who may
    /// need no repository: git checks many other things first.
    pub fn open(environment: &Environment) -> Result<Result<Self>> {
        let opened = match ahead::ask_while(environment, || open::open(environment)) {
            Ok(opened) => opened,
            Err(failure) => return failure.split(),
        };
        let mut messages = config_check::check(&opened, environment)?;
        if messages.is_empty() {
            for warning in &opened.found.warnings {
                push_line(&mut messages, "warning: ", warning);
            }
        }
        let settings = RepositorySettings::read(&opened.config, &opened.found, environment)?;
        let objects = match open::objects(&opened, environment) {
            Ok(objects) => objects,
            Err(error) => return Ok(Err(error)),
        };
        let stable = environment.is_stable;
        let found = opened.found;
        let is_bare = found.work_tree.is_none() && found.format.is_bare != Some(false);
        let repository = Self {
            settings,
            objects,
            is_bare,
            shallow: Shallow::new(open::shallow_file(&found, environment)),
            graft_file: open::graft_file(&found, environment),
            commit_graph_paranoia: environment.contents.commit_graph_paranoia.clone(),
            git_dir: found.git_dir,
            common_dir: found.common_dir,
            config: Arc::new(opened.config),
            messages,
            refs: opened.refs,
            directory: found.directory,
            work_tree: found.work_tree,
            prefix: found.prefix,
            location: environment.location.clone(),
            kept_odb: None,
        };
        Ok(Ok(if stable {
            repository.unconfigured()
        } else {
            repository
        }))
    }

    /// The repository without the settings, files and refs that change the bytes of an archive of a commit.
    pub fn unconfigured(self) -> Self {
        let decides_nothing = |variable: &Variable| {
            KEPT.iter()
                .any(|section| variable.in_section(section).is_some())
                && variable.key != "sluice.gzipcompat"
        };
        Self {
            config: Arc::new(self.config.filtered(decides_nothing)),
            settings: self.settings.unconfigured(),
            objects: odb::Config {
                replacements: Replacements::default(),
                ..self.objects
            },
            kept_odb: None,
            ..self
        }
    }

    /// The repository seen from `directory` of the tree, which counts from the root, as if that were the current one.
    pub fn seen_from(self, directory: &OsStr) -> Result<Self> {
        let path = directory.as_bytes();
        let path = path.strip_suffix(b"/").unwrap_or(path);
        if path
            .split_str("/")
            .any(|part| matches!(part, b"" | b"." | b".."))
        {
            let refused = format_bytes(
                "--relative='{}' is no directory of a tree",
                &[directory.as_bytes()],
            );
            return Err(
                Error::fatal(refused).hinted("it counts from the root, without '/' or './'")
            );
        }
        Ok(Self {
            prefix: [path, b"/"].concat().into(),
            ..self
        })
    }

    /// The hash function of object ids.
    pub fn hash(&self) -> Kind {
        self.objects.hash
    }

    /// Whether commits may lack their parents.
    pub fn is_shallow(&self) -> bool {
        self.shallow.exists()
    }

    /// Whether the parents of a commit are those that its content names.
    pub fn has_plain_parents(&self) -> bool {
        !self.is_shallow() && !self.graft_file.exists()
    }

    /// The object database.
    pub fn odb(&self) -> Odb {
        let kept = self.kept_odb.as_ref().filter(|odb| odb.is_current());
        let open = || Odb::open(self.objects.clone());
        kept.cloned().unwrap_or_else(open)
    }
}

/// The configuration that applies outside any repository.
pub fn config_without_repository(environment: &Environment) -> Result<Config> {
    let config = open::sources(&environment.cwd, environment).read(None);
    config.map_err(|error| program::repository_refusal(&environment.location).unwrap_or(error))
}
