//! Detects configuration that git refuses: unreadable files and invalid values.
//!
//! gix ignores both. If git is installed, git decides: git ignores some of these files, and its messages
//! name the file of an invalid value.

use std::{
    io,
    path::{Path, PathBuf},
};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    config::{File, Source, path::interpolate},
};
use rustix::fs::{Access, access};

use super::settings::{integer, missing_value, truth};
use crate::{
    base::error::{Error, Result, format_bytes, strerror},
    git::program::{self, GitLocation},
};

/// The least value of `core.abbrev`.
const MIN_ABBREV: i64 = 4;
/// The levels of zlib, and -1 for its default.
const ZLIB_LEVELS: std::ops::RangeInclusive<i64> = -1..=9;

/// The type of a value.
#[derive(Clone, Copy)]
enum ValueKind {
    Abbrev,
    Bool,
    Path,
    /// A boolean, or `always`.
    RefLogs,
    Size,
    ZlibLevel,
}

/// The settings that decide how git reads objects, refs and attributes.
const CHECKED: [(&str, ValueKind); 28] = [
    ("core.abbrev", ValueKind::Abbrev),
    ("core.attributesFile", ValueKind::Path),
    ("core.bare", ValueKind::Bool),
    ("core.bigFileThreshold", ValueKind::Size),
    ("core.commitGraph", ValueKind::Bool),
    ("core.compression", ValueKind::ZlibLevel),
    ("core.deltaBaseCacheLimit", ValueKind::Size),
    ("core.fileMode", ValueKind::Bool),
    ("core.ignoreCase", ValueKind::Bool),
    ("core.lockfilePid", ValueKind::Bool),
    ("core.logAllRefUpdates", ValueKind::RefLogs),
    ("core.looseCompression", ValueKind::ZlibLevel),
    ("core.multiPackIndex", ValueKind::Bool),
    ("core.packedGitLimit", ValueKind::Size),
    ("core.packedGitWindowSize", ValueKind::Size),
    ("core.precomposeUnicode", ValueKind::Bool),
    ("core.preferSymlinkRefs", ValueKind::Bool),
    ("core.protectHFS", ValueKind::Bool),
    ("core.protectNTFS", ValueKind::Bool),
    ("core.quotePath", ValueKind::Bool),
    ("core.sparseCheckout", ValueKind::Bool),
    ("core.symlinks", ValueKind::Bool),
    ("core.trustCtime", ValueKind::Bool),
    ("core.useReplaceRefs", ValueKind::Bool),
    ("core.warnAmbiguousRefs", ValueKind::Bool),
    ("extensions.preciousObjects", ValueKind::Bool),
    ("extensions.relativeWorktrees", ValueKind::Bool),
    ("extensions.worktreeConfig", ValueKind::Bool),
];

/// Further keys that are true without a value.
const TRUE_WITHOUT_VALUE: [&str; 8] = [
    "autocrlf",
    "fsmonitor",
    "noop",
    "noop-v1",
    "preloadIndex",
    "safecrlf",
    "sparseCheckoutCone",
    "splitIndex",
];

/// Fail if a configuration file of `repository` is unreadable or has an invalid value.
pub(super) fn check(repository: &gix::Repository, location: &GitLocation) -> Result<()> {
    let config = repository.config_snapshot();
    let config = config.plumbing();
    let fault = unreadable_file(repository, config).or_else(|| bad_value(config));
    match fault {
        None => Ok(()),
        Some(fault) => program::check_repository(location).unwrap_or(Err(fault)),
    }
}

/// The error of the first unreadable configuration file.
fn unreadable_file(repository: &gix::Repository, config: &File) -> Option<Error> {
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
        .find_map(|path| {
            let error = access_failure(&path)?;
            let (path, why) = (path.as_os_str().as_encoded_bytes(), strerror(&error));
            let values = [path, why.as_bytes()];
            Some(Error::fatal(format_bytes(
                "unable to access '{}': {}",
                &values,
            )))
        })
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

/// The error of an existing file at `path` that cannot be read.
fn access_failure(path: &Path) -> Option<io::Error> {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    match access(path, Access::READ_OK).map_err(io::Error::from) {
        Ok(()) => path.is_dir().then(|| IsADirectory.into()),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => None,
        Err(error) => Some(error),
    }
}

/// The error of the first invalid value. git checks every value, even one that another file overrides.
fn bad_value(config: &File) -> Option<Error> {
    let bad = CHECKED.iter().find_map(|(key, kind)| {
        let values = config.strings(key)?;
        values
            .iter()
            .find_map(|value| kind.check(key, value.as_bstr()).err())
    });
    bad.or_else(|| valueless_key(config))
}

/// The error of the first key that lacks a required value, in the sections that every git command reads.
fn valueless_key(config: &File) -> Option<Error> {
    ["core", "extensions"].iter().find_map(|name| {
        let mut sections = config.sections_by_name(name).into_iter().flatten();
        sections.find_map(|section| {
            let mut keys = section.value_names();
            let key = keys.find(|key| {
                section.value_implicit(key) == Some(None) && !may_lack_value(name, key)
            })?;
            Some(missing_value(&format!("{name}.{key}").to_ascii_lowercase()))
        })
    })
}

/// Whether `section.key` is valid without a value.
fn may_lack_value(section: &str, key: &str) -> bool {
    let is_checked = CHECKED.iter().any(|(name, kind)| {
        let name = name.split_once('.');
        let is_it =
            name.is_some_and(|(first, last)| first == section && last.eq_ignore_ascii_case(key));
        is_it && matches!(kind, ValueKind::Bool)
    });
    is_checked
        || TRUE_WITHOUT_VALUE
            .iter()
            .any(|name| name.eq_ignore_ascii_case(key))
}

impl ValueKind {
    fn check(self, key: &str, value: &BStr) -> Result<()> {
        let is_sound = match self {
            Self::Abbrev => {
                value.eq_ignore_ascii_case(b"auto")
                    || matches!(truth(key, value), Ok(false))
                    || integer(key, value)? >= MIN_ABBREV
            }
            Self::Bool => truth(key, value).map(|_| true)?,
            Self::RefLogs => {
                value.eq_ignore_ascii_case(b"always") || truth(key, value).map(|_| true)?
            }
            Self::Path => expanded(value.to_owned()).is_some(),
            Self::Size => integer(key, value)? >= 0,
            Self::ZlibLevel => ZLIB_LEVELS.contains(&integer(key, value)?),
        };
        match is_sound {
            true => Ok(()),
            false => {
                let key = key.to_ascii_lowercase();
                let template = "bad config value '{}' for '{}'";
                Err(Error::fatal(format_bytes(
                    template,
                    &[value, key.as_bytes()],
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bad_value;

    fn fault(section: &str) -> Option<String> {
        let config = gix::config::File::try_from(section).expect("well formed");
        bad_value(&config).map(|error| error.to_string())
    }

    #[test]
    fn sound_values_pass() {
        for line in [
            "abbrev = auto",
            "abbrev = no",
            "abbrev = 40",
            "compression = -1",
            "looseCompression = 9",
            "bigFileThreshold = 1g",
            "bare",
            "symlinks = off",
            "attributesFile = ~/x",
            "editor = x",
            "autocrlf",
            "logAllRefUpdates = always",
        ] {
            assert_eq!(fault(&format!("[core]\n\t{line}\n")), None, "{line}");
        }
    }

    #[test]
    fn each_bad_value_is_a_fault() {
        for line in [
            "abbrev = x",
            "abbrev = 3",
            "compression = 10",
            "looseCompression = -2",
            "bigFileThreshold = -1",
            "packedGitLimit = x",
            "bare = maybe",
            "useReplaceRefs = maybe\n\tuseReplaceRefs = yes",
            "attributesFile = ~no.such.user/x",
            "abbrev",
            "worktree",
            "repositoryFormatVersion",
            "editor",
            "logAllRefUpdates = x",
            "sparseCheckout = x",
        ] {
            assert!(fault(&format!("[core]\n\t{line}\n")).is_some(), "{line}");
        }
        let objects = fault("[extensions]\nobjectFormat\n");
        let words = "error: missing value for 'extensions.objectformat'\n\
                     fatal: bad config variable 'extensions.objectformat'";
        assert_eq!(objects.as_deref(), Some(words));
        let words = "fatal: bad boolean config value 'maybe' for 'core.bare'";
        assert_eq!(fault("[core]\nbare = maybe").as_deref(), Some(words));
    }
}
