//! Finding and opening the repository.

use std::{ffi::OsStr, os::unix::ffi::OsStringExt, path::PathBuf};

use gix::{
    bstr::{BString, ByteSlice},
    discover::upwards,
    open::Options,
    sec::{
        Trust,
        trust::{DefaultForLevel, Mapping},
    },
};

use super::{environment::Environment, git};
use crate::{
    error::{Error, Result},
    odb,
};

/// Extensions of the repository format (gitrepository-layout(5)) that do no harm here.
const KNOWN_EXTENSIONS: [&str; 7] = [
    "noop",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "relativeworktrees",
    "refstorage",
];

/// Open the repository that the current directory or `GIT_DIR` names.
pub fn open(environment: &Environment) -> Result<gix::Repository> {
    let options = |level| {
        Options::default_for_level(level)
            .bail_if_untrusted(true)
            .lossy_config(true)
            .cli_overrides(environment.config.iter().map(String::as_str))
    };
    let opened = match &environment.git_dir {
        // git does not ask who owns what was named outright.
        Some(dir) => options(Trust::Full)
            .bail_if_untrusted(false)
            .filter_config_section(|_| true)
            .with(Trust::Full)
            .open_path_as_is(true)
            .open(dir),
        None => {
            let upwards = upwards::Options {
                match_ceiling_dir_or_error: false,
                ..Default::default()
            };
            let trust = Mapping {
                full: options(Trust::Full),
                reduced: options(Trust::Reduced),
            };
            gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
                &environment.cwd,
                upwards,
                trust,
            )
        }
    };
    let repository = opened.map_err(refused)?.to_thread_local();
    refuse_unknown_extensions(&repository)?;
    Ok(repository)
}

/// The failure to open a repository, in the words of the installed git.
fn refused(cause: gix::Error) -> Error {
    let asked = git(&[OsStr::new("rev-parse"), OsStr::new("--git-dir")]);
    let words = asked
        .filter(|output| !output.status.success())
        .map(|output| {
            let words = output.stderr.trim_end().to_str_lossy().into_owned();
            words
                .strip_prefix("fatal: ")
                .map(str::to_owned)
                .unwrap_or(words)
        });
    match words {
        Some(words) => Error::fatal(words),
        None => Error::fatal("cannot open the repository").caused_by(cause.to_string()),
    }
}

fn refuse_unknown_extensions(repository: &gix::Repository) -> Result<()> {
    let config = repository.config_snapshot();
    if config.integer("core.repositoryFormatVersion").unwrap_or(0) < 1 {
        return Ok(());
    }
    for section in config
        .plumbing()
        .sections_by_name("extensions")
        .into_iter()
        .flatten()
    {
        for name in section.value_names() {
            let name = name.to_string().to_ascii_lowercase();
            if !KNOWN_EXTENSIONS.contains(&name.as_str()) {
                return Err(Error::fatal(format!(
                    "unknown repository extension found:\n\t{name}"
                )));
            }
        }
    }
    Ok(())
}

/// Where the repository's objects lie.
pub fn objects(repository: &gix::Repository, environment: &Environment) -> odb::Config {
    let main = environment.object_directory.clone();
    let main = main.unwrap_or_else(|| repository.common_dir().join("objects"));
    let config = repository.config_snapshot();
    odb::Config {
        dirs: odb::object_dirs(main, environment.alternates.as_deref()),
        hash: repository.object_hash(),
        multi_pack_index: config.boolean("core.multiPackIndex").unwrap_or(true),
        replacements: repository.objects.store_ref().replacements().collect(),
    }
}

/// The current directory as a path from the top of the work tree: empty, or with a slash at its
/// end. Empty as well where there is no work tree, and inside of the git directory.
pub fn prefix(repository: &gix::Repository, environment: &Environment) -> BString {
    let config = repository.config_snapshot();
    let configured = environment.has_work_tree || config.string("core.worktree").is_some();
    if environment.git_dir.is_some() && !configured {
        return BString::default();
    }
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let cwd = real(environment.cwd.clone());
    if cwd.starts_with(real(repository.git_dir().to_owned())) {
        return BString::default();
    }
    let top = repository.workdir().map(|top| real(top.to_owned()));
    let below = top.and_then(|top| cwd.strip_prefix(top).map(ToOwned::to_owned).ok());
    let mut prefix = below.map_or_else(BString::default, |below| {
        below.into_os_string().into_vec().into()
    });
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    prefix
}
