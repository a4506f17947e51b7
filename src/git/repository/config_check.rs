//! Detects configuration that git refuses: unreadable files and invalid values.
//!
//! gix ignores both. git is asked wherever it might refuse: it ignores some of these files, and its messages name the
//! file of an invalid value.

use std::{
    io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    config::{File, Source, path::interpolate},
};
use rustix::fs::{Access, access};

use super::settings::{integer, truth};
use crate::{
    base::error::{Error, Result},
    git::program::{self, GitLocation},
};

/// The booleans that decide how git reads objects, refs and attributes.
const BOOLEANS: [&str; 21] = [
    "core.bare",
    "core.commitGraph",
    "core.fileMode",
    "core.ignoreCase",
    "core.lockfilePid",
    "core.logAllRefUpdates",
    "core.multiPackIndex",
    "core.precomposeUnicode",
    "core.preferSymlinkRefs",
    "core.protectHFS",
    "core.protectNTFS",
    "core.quotePath",
    "core.safecrlf",
    "core.sparseCheckout",
    "core.symlinks",
    "core.trustCtime",
    "core.useReplaceRefs",
    "core.warnAmbiguousRefs",
    "extensions.preciousObjects",
    "extensions.relativeWorktrees",
    "extensions.worktreeConfig",
];

/// The numbers that decide about the same, with those that are valid.
const NUMBERS: [(&str, RangeInclusive<i64>); 7] = [
    ("core.abbrev", 4..=40),
    ("core.bigFileThreshold", 0..=i64::MAX),
    ("core.compression", -1..=9),
    ("core.deltaBaseCacheLimit", 0..=i64::MAX),
    ("core.looseCompression", -1..=9),
    ("core.packedGitLimit", 0..=i64::MAX),
    ("core.packedGitWindowSize", 0..=i64::MAX),
];

/// Fail if git refuses the configuration of `repository`.
pub(super) fn check(repository: &gix::Repository, location: &GitLocation) -> Result<()> {
    let config = repository.config_snapshot();
    let config = config.plumbing();
    if !has_unreadable_file(repository, config) && has_sound_values(config) {
        return Ok(());
    }
    program::check_repository(location).unwrap_or_else(|| {
        let refused = Error::fatal("the configuration may be invalid");
        Err(refused.hinted("the installed git checks it: is there one?"))
    })
}

/// Whether a configuration file cannot be read.
fn has_unreadable_file(repository: &gix::Repository, config: &File) -> bool {
    let shared = [Source::System, Source::Git, Source::User];
    let shared = shared
        .iter()
        .filter_map(|source| source.storage_location(&mut gix::path::env::var));
    let has_own = config.boolean("extensions.worktreeConfig").ok().flatten() == Some(true);
    let own = has_own.then(|| repository.git_dir().join("config.worktree"));
    shared
        .chain([repository.common_dir().join("config")])
        .chain(own)
        .chain(included(config))
        .any(|path| is_unreadable(&path))
}

/// The files that `config` includes, whether or not their conditions hold.
fn included(config: &File) -> impl Iterator<Item = PathBuf> {
    let sections = ["include", "includeIf"]
        .into_iter()
        .flat_map(|name| config.sections_by_name(name).into_iter().flatten());
    sections.flat_map(|section| {
        let directory = section.meta().path.as_deref().and_then(Path::parent);
        let directory = directory.map(Path::to_owned);
        let paths = section.values("path").into_iter();
        paths.filter_map(move |path| {
            let path = expanded(path)?;
            match &directory {
                Some(directory) => Some(directory.join(path)),
                None => path.is_absolute().then_some(path),
            }
        })
    })
}

/// The path with its `~` expanded, if possible.
fn expanded(path: BString) -> Option<PathBuf> {
    let home = gix::path::env::home_dir();
    let context = interpolate::Context {
        home_dir: home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
        ..interpolate::Context::default()
    };
    gix::config::Path::from(path).interpolate(context).ok()
}

/// Whether a file exists at `path` that cannot be read.
fn is_unreadable(path: &Path) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    match access(path, Access::READ_OK).map_err(io::Error::from) {
        Ok(()) => path.is_dir(),
        Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
    }
}

/// Whether git certainly accepts all values. git checks every value, even one that another file overrides.
fn has_sound_values(config: &File) -> bool {
    let values = |key| config.strings(key).unwrap_or_default().into_iter();
    let is_number = |key: &str, range: &RangeInclusive<i64>, value: &BStr| {
        integer(key, value).is_ok_and(|number| range.contains(&number))
    };
    BOOLEANS
        .iter()
        .all(|key| values(*key).all(|value| truth(key, value.as_bstr()).is_ok()))
        && NUMBERS
            .iter()
            .all(|(key, range)| values(*key).all(|value| is_number(key, range, value.as_bstr())))
        && values("core.attributesFile").all(|path| expanded(path).is_some())
        && !lacks_value(config)
}

/// Whether a key lacks its value, in the sections that every git command reads. Only git knows which keys may.
fn lacks_value(config: &File) -> bool {
    let sections = ["core", "extensions"].into_iter();
    let mut sections =
        sections.flat_map(|name| config.sections_by_name(name).into_iter().flatten());
    sections.any(|section| {
        let mut keys = section.value_names();
        keys.any(|key| section.value_implicit(&key) == Some(None))
    })
}

#[cfg(test)]
mod tests {
    use super::has_sound_values;

    fn is_sound(line: &str) -> bool {
        let section = format!("[core]\n\t{line}\n");
        let config = gix::config::File::try_from(&section[..]).expect("well formed");
        has_sound_values(&config)
    }

    #[test]
    fn sound_values_pass() {
        for line in [
            "abbrev = 40",
            "compression = -1",
            "looseCompression = 9",
            "bigFileThreshold = 1g",
            "symlinks = off",
            "attributesFile = ~/x",
            "editor = x",
        ] {
            assert!(is_sound(line), "{line}");
        }
    }

    #[test]
    fn git_is_asked_about_all_others() {
        for line in [
            "abbrev = auto",
            "abbrev = x",
            "abbrev = 3",
            "abbrev = 1g",
            "safecrlf = x",
            "autocrlf",
            "compression = 10",
            "looseCompression = -2",
            "bigFileThreshold = -1",
            "packedGitLimit = x",
            "bare",
            "bare = maybe",
            "useReplaceRefs = maybe\n\tuseReplaceRefs = yes",
            "attributesFile = ~no.such.user/x",
            "abbrev",
            "worktree",
            "repositoryFormatVersion",
            "editor",
            "logAllRefUpdates = x",
            "sparseCheckout = x",
            "x = y\n[extensions]\nobjectFormat",
        ] {
            assert!(!is_sound(line), "{line}");
        }
    }
}
