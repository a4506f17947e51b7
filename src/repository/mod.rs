//! The repository, opened as git opens it, and what its configuration says about archives.
//!
//! gix does the work; this adds what git takes from its environment and gix does not: `-c` given to
//! `git`, object directories, a current directory that is the work tree. Where gix cannot go on,
//! the installed git is asked, so that nobody loses a repository or a message by switching.

pub mod attr_source;
mod config_check;
pub mod date;
pub mod environment;
pub mod extra_file;
mod open;
mod refs;
mod replacements;
pub mod served;
pub mod settings;
pub mod treeish;
mod work_tree;

use std::path::PathBuf;

use gix::bstr::BString;

use crate::{error::Result, odb};
use environment::Environment;
use settings::RepositorySettings;
use work_tree::WorkTree;

/// An open repository.
pub struct Repository {
    /// Refs and revisions.
    pub gix: gix::Repository,
    /// What the configuration says.
    pub settings: RepositorySettings,
    /// Where the objects lie.
    pub objects: odb::Config,
    /// The current directory as a path from the top of the work tree: empty, or with a slash at its
    /// end.
    pub prefix: BString,
    /// The top of the work tree, if there is one.
    pub work_tree: Option<PathBuf>,
    /// Whether there is no work tree, and nothing says that there is one.
    pub is_bare: bool,
}

impl Repository {
    /// Open the repository that the current directory or `GIT_DIR` names, and read its settings.
    ///
    /// Settings that make no sense are an error at once; that there is no repository is for the
    /// caller to say when one is needed, and git looks at much else before.
    pub fn open(environment: &Environment) -> Result<Result<Self>> {
        let gix = match open::open(environment) {
            Ok(gix) => gix,
            Err(error) => return Ok(Err(error)),
        };
        config_check::check(&gix)?;
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
        }))
    }
}
