//! Finds and opens the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::{
    ObjectId,
    discover::{upwards, upwards::TrustPolicy},
    odb::store::init::Slots,
    open::{Options, Permissions},
    sec::{
        Permission, Trust,
        trust::{DefaultForLevel, Mapping},
    },
};
use rustix::process::geteuid;

use super::{environment::Environment, promisor, replacements::replacements, work_tree::real};
use crate::{
    base::error::{Error, Result},
    git::{odb, program},
};

/// Extensions of the repository format (gitrepository-layout(5)) that are harmless here.
const KNOWN_EXTENSIONS: [&str; 9] = [
    "noop",
    "noop-v1",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "relativeworktrees",
    "refstorage",
    "submodulepathconfig",
];

/// The most packs in which gix looks for revisions: more than git leaves by itself (`gc.autoPackLimit`). In a repository
/// with more packs, the installed git is asked. With a given number, gix need not list the packs in advance, nor follow
/// alternates, of which it refuses some that git follows. gix sets up room for as many at each start.
const MAX_PACKS: u16 = 64;

/// Where gix looks for replacements when it opens a repository. Only [`replacements`] count. Without this, gix would take the
/// place from the configuration, as git does not, and panic if it is empty.
const REPLACE_REF_BASE: &str = "gitoxide.objects.replaceRefBase=refs/replace/";

/// Open the repository of the current directory or of `GIT_DIR`.
pub(super) fn open(environment: &Environment) -> Result<gix::Repository> {
    let repository = match &environment.git_dir {
        Some(dir) => open_named(environment, dir),
        None => discover(environment),
    };
    let repository = match repository {
        Ok(repository) => repository,
        Err(cause) => second_try(environment, cause)?,
    };
    if environment.git_dir.is_none() && is_above_ceiling(&repository, environment) {
        return Err(program::repository_refusal(&environment.location).unwrap_or_else(not_found));
    }
    if is_for_git(&repository, environment)
        && let Some(refused) = program::repository_refusal(&environment.location)
    {
        return Err(refused);
    }
    refuse_unknown_extensions(&repository)?;
    Ok(repository)
}

fn options(environment: &Environment, level: Trust) -> Options {
    let mut permissions = Permissions::default_for_level(level);
    permissions.env.objects = Permission::Deny;
    Options::default_for_level(level)
        .permissions(permissions)
        .object_store_slots(Slots::Given(MAX_PACKS))
        .bail_if_untrusted(true)
        .lossy_config(true)
        .cli_overrides(environment.config.iter().cloned())
        .config_overrides([REPLACE_REF_BASE])
}

/// The options for a repository whose owner does not matter.
fn trusting_options(environment: &Environment) -> Options {
    options(environment, Trust::Full)
        .bail_if_untrusted(false)
        .filter_config_section(|_| true)
        .with(Trust::Full)
}

/// Open the repository of `GIT_DIR`. git does not check its owner.
fn open_named(environment: &Environment, dir: &Path) -> gix::Result<gix::Repository> {
    let options = trusting_options(environment).open_path_as_is(true);
    // gix mistakes the work tree for the git directory if the path is `.`, but not if the path is absolute.
    options
        .open(environment.cwd.join(dir))
        .map(|repository| repository.to_thread_local())
}

fn discover(environment: &Environment) -> gix::Result<gix::Repository> {
    let levels = Mapping {
        full: options(environment, Trust::Full),
        reduced: options(environment, Trust::Reduced),
    };
    discover_with(environment, upwards::Options::default(), levels)
}

fn discover_trusting(environment: &Environment) -> gix::Result<gix::Repository> {
    let trust = TrustPolicy::Assume(Trust::Full);
    let levels = Mapping {
        full: trusting_options(environment),
        reduced: trusting_options(environment),
    };
    discover_with(
        environment,
        upwards::Options {
            trust,
            ..upwards::Options::default()
        },
        levels,
    )
}

fn discover_with(
    environment: &Environment,
    upwards: upwards::Options<'_>,
    levels: Mapping<Options>,
) -> gix::Result<gix::Repository> {
    let upwards = upwards::Options {
        match_ceiling_dir_or_error: false,
        ..upwards
    };
    gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
        &environment.cwd,
        upwards,
        levels,
    )
    .map(|repository| repository.to_thread_local())
}

/// Let git decide about a repository that gix refuses: only git reads `safe.directory` from the command
/// line and the environment.
fn second_try(environment: &Environment, cause: gix::Error) -> Result<gix::Repository> {
    if let Some(refused) = program::repository_refusal(&environment.location) {
        return Err(refused);
    }
    let trusted = match environment.git_dir {
        Some(_) => None,
        None => discover_trusting(environment).ok(),
    };
    trusted.ok_or_else(|| Error::fatal("cannot open the repository").caused_by(cause.to_string()))
}

fn not_found() -> Error {
    Error::fatal("not a git repository (or any of the parent directories): .git")
}

/// Whether git would not find this repository. git searches strictly below a ceiling
/// (`GIT_CEILING_DIRECTORIES`) and in the current directory; gix searches the ceiling as well.
fn is_above_ceiling(repository: &gix::Repository, environment: &Environment) -> bool {
    if environment.ceilings.is_empty() {
        return false;
    }
    let cwd = real(&environment.cwd);
    let found = real(repository.workdir().unwrap_or(repository.git_dir()));
    let above = |ceiling: &PathBuf| {
        cwd != *ceiling && cwd.starts_with(ceiling) && ceiling.starts_with(&found)
    };
    environment
        .ceilings
        .iter()
        .map(|ceiling| real(ceiling))
        .any(|ceiling| above(&ceiling))
}

/// Whether git may refuse a repository that gix takes: gix passes over a file `.git` that names no repository, believes
/// `SUDO_UID` from any user, takes any `HEAD`, and does not know `safe.bareRepository`.
fn is_for_git(repository: &gix::Repository, environment: &Environment) -> bool {
    if !has_sound_head(repository.git_dir()) {
        return true;
    }
    if environment.git_dir.is_some() {
        return false;
    }
    let is_sudo = || std::env::var_os("SUDO_UID").is_some() && !geteuid().is_root();
    let is_refused_if_bare = || {
        let setting = repository.config_snapshot().string("safe.bareRepository");
        setting.is_some() && repository.workdir().is_none()
    };
    is_sudo() || is_refused_if_bare() || has_passed_over(repository, &environment.cwd)
}

/// Whether a file `.git` on the way from `cwd` to the repository names another one, or none.
fn has_passed_over(repository: &gix::Repository, cwd: &Path) -> bool {
    for directory in cwd.ancestors() {
        match fs::metadata(directory.join(".git")) {
            Err(_) => {}
            Ok(there) if there.is_file() => {
                let found = repository.workdir().unwrap_or(repository.git_dir());
                return real(directory) != real(found);
            }
            Ok(_) => return false,
        }
    }
    false
}

/// Whether the `HEAD` of `git_dir` names a ref or a commit.
fn has_sound_head(git_dir: &Path) -> bool {
    let head = fs::read(git_dir.join("HEAD")).unwrap_or_default();
    match head.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => ObjectId::from_hex(head.trim_ascii_end()).is_ok(),
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

/// The settings of the repository's object database.
pub(super) fn objects(
    repository: &gix::Repository,
    environment: &Environment,
) -> Result<odb::Config> {
    let main = environment.object_directory.as_ref();
    let main = main.map(|main| environment.directory().file(main).path);
    let main = main.unwrap_or_else(|| repository.common_dir().join("objects"));
    let config = repository.config_snapshot();
    let dirs = odb::object_dirs(main, environment.alternates.as_deref());
    Ok(odb::Config {
        dirs: dirs.found,
        omits_dirs: dirs.omits_any,
        hash: repository.object_hash(),
        multi_pack_index: config.boolean("core.multiPackIndex").unwrap_or(true),
        replacements: replacements(repository, environment)?,
        is_partial: promisor::exists(config.plumbing()),
    })
}
