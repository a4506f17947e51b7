//! The repository, opened as git opens it, and the settings that matter for archives.
//!
//! gix does the work. This module adds the parts of git's environment that gix ignores: `-c` given to
//! `git`, object directories, a current directory that is the work tree. Where gix cannot continue, the
//! installed git is asked, so that no repository is unsupported and every message is git's.

mod ahead;
pub mod attr_source;
mod config_check;
pub mod date;
pub mod environment;
pub mod extra_file;
mod file_stamps;
pub mod gitmodules;
pub mod pool;
pub mod lfs;
mod open;
pub mod promisor;
pub mod promisors;
mod refs;
mod replacements;
mod rev_parse;
pub mod served;
pub mod settings;
pub mod submodules;
pub mod treeish;
mod work_tree;

use std::path::PathBuf;

use gix::bstr::BString;

use crate::{
    base::error::{Error, Result},
    git::{
        odb::{self, Odb, faults::failed_elsewhere},
        program::GitLocation,
    },
};
use environment::Environment;
use settings::RepositorySettings;
use work_tree::WorkTree;

/// An open repository. Clones share what is open.
#[derive(Clone)]
pub struct Repository {
    /// Refs and revisions.
    pub gix: gix::Repository,
    /// The settings of the configuration.
    pub settings: RepositorySettings,
    /// The settings of the object database.
    pub objects: odb::Config,
    /// The current directory relative to the top of the work tree: empty, or with a slash at its end.
    pub prefix: BString,
    /// The top of the work tree, if there is one.
    pub work_tree: Option<PathBuf>,
    /// Whether there is no work tree, and no setting claims one.
    pub is_bare: bool,
    /// The repository, for programs that run in it.
    pub location: GitLocation,
    /// The object database of an earlier run, with the packs that were open then.
    kept_odb: Option<Odb>,
    /// The failed reads of files that others have mapped, as of the time before this repository was opened.
    failed_reads: usize,
}

impl Repository {
    /// Open the repository of the current directory or of `GIT_DIR`, and read its settings.
    ///
    /// Invalid settings are an error at once. The error of a missing repository is for the caller, who may
    /// need no repository: git checks many other things first.
    pub fn open(environment: &Environment) -> Result<Result<Self>> {
        let failed_reads = failed_elsewhere();
        let gix = match ahead::ask_while(environment, || open::open(environment)) {
            Ok(gix) => gix,
            Err(error) => return Ok(Err(error)),
        };
        config_check::check(&gix, &environment.location)?;
        let work_tree = WorkTree::find(&gix, environment);
        let settings = RepositorySettings::read(&gix, work_tree.directory)?;
        let objects = match open::objects(&gix, environment) {
            Ok(objects) => objects,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(Self {
            gix,
            settings,
            objects,
            work_tree: work_tree.top,
            prefix: work_tree.prefix,
            is_bare: work_tree.is_bare,
            location: environment.location.clone(),
            kept_odb: None,
            failed_reads,
        }))
    }

    /// Fails if a file that gix maps, such as `packed-refs`, could not be read since the repository was opened: gix goes on
    /// with zeros.
    pub fn check_reads(&self) -> Result<()> {
        match failed_elsewhere() == self.failed_reads {
            true => Ok(()),
            false => Err(Error::fatal("a file of the repository cannot be read")),
        }
    }

    /// The object database.
    pub fn odb(&self) -> Odb {
        let kept = self.kept_odb.as_ref().filter(|odb| odb.is_current());
        let open = || Odb::open(self.objects.clone());
        kept.cloned().unwrap_or_else(open)
    }
}
