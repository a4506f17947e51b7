//! Opens a repository: finds it, reads its configuration, and lists its object directories.

use std::path::{Path, PathBuf};

use bstr::BString;

use super::{
    discover::{Discovery, discover},
    no_repository::NoRepository,
    promisor,
    replacements::replacements,
};
use crate::{
    config::{
        Config,
        sources::{RepositoryFiles, Sources},
    },
    environment::Environment,
    odb,
    program::{self, GitLocation},
    refs::Refs,
    repository::rev_parse,
};
use sluice_base::error::Result;

/// A repository that was found, with its refs and its configuration.
pub(super) struct Opened {
    pub(super) found: Discovery,
    pub(super) refs: Refs,
    pub(super) config: Config,
}

/// Opens the repository of the current directory or of `GIT_DIR`. Where it cannot be opened, git has the word: it knows why.
pub(super) fn open(environment: &Environment) -> Result<Opened, NoRepository> {
    let in_words_of_git =
        |error| program::repository_refusal(&environment.location).unwrap_or(error);
    try_open(environment).map_err(|failure| failure.map(in_words_of_git))
}

fn try_open(environment: &Environment) -> Result<Opened, NoRepository> {
    let found = discover(environment)?;
    let backend = environment.contents.reference_backend.as_deref();
    let storage = found.format.refs(&found.git_dir, backend)?;
    let refs = Refs::new(storage, found.format.hash);
    let config = read_config(&found, &refs, environment)?;
    Ok(Opened {
        found,
        refs,
        config,
    })
}

fn read_config(found: &Discovery, refs: &Refs, environment: &Environment) -> Result<Config> {
    let location = &environment.location;
    let branch = || branch(refs, location);
    sources(&found.directory, environment).read(Some(&RepositoryFiles {
        git_dir: &found.git_dir,
        linked_git_dir: &found.linked_git_dir,
        work_tree: found.work_tree.as_deref(),
        own: found.format.variables.clone(),
        branch: &branch,
    }))
}

/// The files of the configuration, for git in `directory`.
pub(super) fn sources<'a>(directory: &'a Path, environment: &'a Environment) -> Sources<'a> {
    Sources {
        variables: &environment.config,
        directory,
        git: &environment.location,
    }
}

/// The name of the current branch.
fn branch(refs: &Refs, location: &GitLocation) -> Option<BString> {
    refs.branch()
        .unwrap_or_else(|_| rev_parse::branch(location))
}

/// The settings of the repository's object database.
pub(super) fn objects(opened: &Opened, environment: &Environment) -> Result<odb::Config> {
    let (found, contents) = (&opened.found, &environment.contents);
    let main = match &contents.object_directory {
        Some(named) => found.directory.join(named),
        None => found.common_dir.join("objects"),
    };
    let dirs = odb::object_dirs(main, contents.alternates.as_deref(), &found.directory);
    let multi_pack_index = !opened.config.is_false("core.multiPackIndex");
    Ok(odb::Config {
        dirs: dirs.found,
        omits_dirs: dirs.omits_any,
        hash: found.format.hash,
        multi_pack_index,
        replacements: replacements(&opened.refs, found.format.hash, &opened.config, environment)?,
        is_partial: promisor::exists(&opened.config),
        made: Default::default(),
    })
}

/// The file of a shallow clone. An empty name is that of no file.
pub(super) fn shallow_file(found: &Discovery, environment: &Environment) -> PathBuf {
    match &environment.contents.shallow_file {
        Some(named) if named.as_os_str().is_empty() => PathBuf::new(),
        Some(named) => found.directory.join(named),
        None => found.common_dir.join("shallow"),
    }
}

/// The file with other parents of commits (gitrepository-layout(5), "info/grafts").
pub(super) fn graft_file(found: &Discovery, environment: &Environment) -> PathBuf {
    match &environment.contents.graft_file {
        Some(named) => found.directory.join(named),
        None => found.common_dir.join("info/grafts"),
    }
}
