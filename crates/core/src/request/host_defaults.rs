//! What a host sends of submodules and of Git LFS files, unless an option says otherwise.
//!
//! Who can push the configuration of a repository could otherwise have it send more than the host means to, so its values count
//! only as far as system and user allow.

use clap::ValueEnum;

use super::profile;
use sluice_base::error::{Error, Result, format_bytes};
use sluice_cli::{Args, Lfs, Submodules};
use sluice_git::{
    config::Config,
    environment::Environment,
    repository::{Repository, host::Host},
};

/// Fills in the filters of `args` that no option and no profile sets, from the configuration of `repository`.
pub fn fill(args: &mut Args, repository: &Repository, environment: &Environment) -> Result<()> {
    let profile = profile::filters(args.filters.profile.unwrap_or_default());
    let filters = &mut args.filters;
    let reads_work_tree = args.content.worktree_attributes;
    if filters.submodules.or(profile.submodules).is_none() && !reads_work_tree {
        let of = |how: &Submodules| match how {
            Submodules::Omit => 0,
            Submodules::Dir => 1,
            Submodules::RecursePresent => 2,
            Submodules::Recurse => 3,
        };
        let keys = ["sluice.submodules", "sluice.allowSubmodules"];
        filters.submodules = value(keys, (Submodules::Dir, of), repository, environment)?;
    }
    let is_raw = filters.no_attributes || profile.no_attributes;
    if filters.lfs.or(profile.lfs).is_none() && !is_raw {
        let of = |how: &Lfs| match how {
            Lfs::Pointer => 0,
            Lfs::ContentPresent => 1,
            Lfs::Content => 2,
        };
        let keys = ["sluice.lfs", "sluice.allowLfs"];
        filters.lfs = value(keys, (Lfs::Pointer, of), repository, environment)?;
    }
    Ok(())
}

/// The value of `key` in the whole configuration, unless it is more than system and user allow: by `allow`, or by a value of
/// their own. `least` is what they allow otherwise, and `amount` compares values.
fn value<T: ValueEnum + Copy>(
    [key, allow]: [&str; 2],
    (least, amount): (T, impl Fn(&T) -> u8),
    repository: &Repository,
    environment: &Environment,
) -> Result<Option<T>> {
    let Some(value) = read(&repository.config, key, environment)? else {
        return Ok(None);
    };
    let host = Host::read(environment)?;
    let own = read(host.config(), key, environment)?;
    let is_allowed = host.config().is_true(allow);
    if is_allowed || amount(&value) <= amount(&own.unwrap_or(least)) {
        Ok(Some(value))
    } else {
        Ok(own)
    }
}

/// The value of `key` in `config`. A bad value ends no run of somebody who asked git.
fn read<T: ValueEnum>(config: &Config, key: &str, environment: &Environment) -> Result<Option<T>> {
    let Some(text) = config.string(key) else {
        return Ok(None);
    };
    match T::from_str(&text.to_string(), false) {
        Ok(value) => Ok(Some(value)),
        Err(_) if environment.is_for_git() => Ok(None),
        Err(_) => {
            let values = [text.as_ref(), key.as_bytes()];
            Err(Error::fatal(format_bytes(
                "bad config value '{}' for '{}'",
                &values,
            )))
        }
    }
}
