//! Detects configuration that git refuses: invalid values of keys that every git command reads.
//!
//! git is asked wherever it might refuse: it accepts some of these values, and its messages name the file of one that is invalid.

use std::ops::RangeInclusive;

use bstr::{BStr, BString, ByteSlice};

use crate::{
    config::{
        Config, Variable,
        value::{integer, parse_truth},
    },
    environment::Environment,
    program,
};
use sluice_base::error::{Error, Result};

use super::open::Opened;

/// The booleans that decide how git reads objects, refs and attributes.
const BOOLEANS: &str = "core.autocrlf core.bare core.commitGraph core.fileMode core.ignoreCase core.lockfilePid \
    core.logAllRefUpdates core.multiPackIndex core.precomposeUnicode core.preferSymlinkRefs \
    core.protectHFS core.protectNTFS core.quotePath core.safecrlf core.sparseCheckout core.symlinks \
    core.trustCtime core.useReplaceRefs core.warnAmbiguousRefs extensions.preciousObjects \
    extensions.relativeWorktrees extensions.submodulePathConfig extensions.worktreeConfig";

/// The sections with values that every command reads.
const SECTIONS: &str = "attr author branch committer core extensions i18n mailmap push tar user";

/// The paths that every command expands.
const PATHS: &str = "core.attributesFile core.excludesFile core.hooksPath";

/// Words that are valid in place of a boolean or of a number.
const WORDS: [(&str, &str); 2] = [("core.autocrlf", "input"), ("tar.umask", "user")];

/// The numbers that decide about the same, with those that are valid.
const NUMBERS: [(&str, RangeInclusive<i64>); 8] = [
    ("core.abbrev", 4..=40),
    ("core.bigFileThreshold", 0..=i64::MAX),
    ("core.compression", -1..=9),
    ("core.deltaBaseCacheLimit", 0..=i64::MAX),
    ("core.looseCompression", -1..=9),
    ("core.packedGitLimit", 0..=i64::MAX),
    ("core.packedGitWindowSize", 0..=i64::MAX),
    ("tar.umask", -(i32::MAX as i64)..=i32::MAX as i64),
];

/// Fail if git refuses the configuration of a repository that was `opened`. Returns git's messages about one that it accepts.
pub(super) fn check(opened: &Opened, environment: &Environment) -> Result<BString> {
    let has_home = |path: &BStr| environment.paths().expand(path).is_some();
    if has_sound_values(&opened.config, has_home) {
        return Ok(BString::default());
    }
    let hash = opened.found.format.hash;
    program::check_config(&environment.location, hash).unwrap_or_else(|| {
        let refused = Error::fatal("the configuration may be invalid");
        Err(refused.hinted("checking it needs git in PATH"))
    })
}

/// Whether git certainly accepts all values in silence. git checks every value, even one that another file overrides. `has_home` says whether
/// a path begins with no home, or with one that exists.
fn has_sound_values(config: &Config, has_home: impl Fn(&BStr) -> bool) -> bool {
    config.variables().all(|variable| {
        if has_odd_key(variable) {
            return false;
        }
        let Some(value) = &variable.value else {
            // Only git knows which other keys may lack a value.
            let section = variable.key.split_str(".").next().unwrap_or_default();
            return is_any(&variable.key, BOOLEANS) || !is_any(section, SECTIONS);
        };
        is_sound(&variable.key, value.as_bstr(), &has_home)
    })
}

/// Whether git complains about a key and goes on: it stands before the first section, or is a condition that may count from the
/// directory of a file, but is in none.
fn has_odd_key(variable: &Variable) -> bool {
    let is_condition = || variable.in_section("includeif").is_some();
    !variable.key.contains(&b'.') || (variable.file.is_none() && is_condition())
}

/// Whether git certainly accepts `value` for `key`.
fn is_sound(key: &[u8], value: &BStr, has_home: impl Fn(&BStr) -> bool) -> bool {
    let mut words = WORDS.iter();
    if words.any(|(name, word)| is_any(key, name) && is_any(value, word)) {
        return true;
    }
    if is_any(key, BOOLEANS) {
        return parse_truth(value).is_some();
    }
    if let Some((name, range)) = NUMBERS.iter().find(|(name, _)| is_any(key, name)) {
        return integer(name, value).is_ok_and(|number| range.contains(&number));
    }
    !is_any(key, PATHS) || has_home(value)
}

/// Whether `key` is one of `names`, which have a space between them.
fn is_any(key: &[u8], names: &str) -> bool {
    let mut names = names.split(' ');
    names.any(|name| key.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::has_sound_values;
    use crate::config::Config;

    fn is_sound(line: &str) -> bool {
        let section = format!("[core]\n\t{line}\n");
        let has_home = |path: &bstr::BStr| !path.starts_with(b"~no");
        has_sound_values(&Config::of_text(&section), has_home)
    }

    #[test]
    fn sound_values_pass() {
        let table = "abbrev = 40 | compression = -1 | looseCompression = 9 | bigFileThreshold = 1g | \
                     symlinks = off | bare | attributesFile = ~/x | editor = x | \
                     autocrlf = Input\n\tautocrlf | x = y\n[tar]\numask = user\numask = 0";
        for line in table.split(" | ") {
            assert!(is_sound(line), "{line}");
        }
    }

    #[test]
    fn git_is_asked_about_all_others() {
        let table = "abbrev = auto | abbrev = x | abbrev = 3 | abbrev = 1g | safecrlf = x | \
                     autocrlf = x\n\tautocrlf = input | compression = 10 | looseCompression = -2 | \
                     bigFileThreshold = -1 | packedGitLimit = x | bare = maybe | \
                     useReplaceRefs = maybe\n\tuseReplaceRefs = yes | attributesFile = ~no.such.user/x | \
                     hooksPath = ~no.such.user/x | abbrev | worktree | repositoryFormatVersion | editor | \
                     logAllRefUpdates = x | sparseCheckout = x | x = y\n[extensions]\nobjectFormat | \
                     x = y\n[tar]\numask = x\numask = 0 | x = y\n[tar]\numask | \
                     x = y\n[includeIf \"onbranch:x\"]\npath = y";
        for line in table.split(" | ") {
            assert!(!is_sound(line), "{line}");
        }
    }
}
