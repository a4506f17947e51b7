//! The options of each profile, and how options of the command line override them. Must not read anything.

use clap::ValueEnum;

use crate::{
    base::error::{Error, format_bytes},
    cli::{
        ExcludeGrammar, Filters, Large, Lfs, OnBinary, OnMissing, Profile, Submodules, Symlinks,
    },
};

/// The options that a profile sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProfileSettings {
    pub(super) no_attributes: bool,
    pub(super) exclude_from_tree: Option<&'static str>,
    pub(super) exclude_grammar: Option<ExcludeGrammar>,
    pub(super) max_size: Option<u64>,
    pub(super) large: Option<Large>,
    pub(super) binary: Option<OnBinary>,
    pub(super) binary_within: Option<u64>,
    pub(super) symlinks: Option<Symlinks>,
    pub(super) submodules: Option<Submodules>,
    pub(super) lfs: Option<Lfs>,
    pub(super) missing: Option<OnMissing>,
}

/// Where zoekt and the searcher look for ignore rules.
const IGNORE_FILE: &str = ".sourcegraph/ignore";
/// The largest file that zoekt and the searcher read by default, in bytes.
const FILE_LIMIT: u64 = 2 << 20;
/// How much of a file the searcher looks at to tell whether it is binary.
const SEARCHER_SAMPLE: u64 = 32 << 10;

impl ProfileSettings {
    /// The options of `profile`.
    pub(super) fn of(profile: Profile) -> Self {
        let reader = Self {
            no_attributes: true,
            exclude_from_tree: Some(IGNORE_FILE),
            exclude_grammar: Some(ExcludeGrammar::Sourcegraph),
            max_size: Some(FILE_LIMIT),
            submodules: Some(Submodules::Omit),
            missing: Some(OnMissing::Placeholder),
            ..Self::default()
        };
        match profile {
            Profile::Git => Self::default(),
            Profile::Zoekt => Self {
                large: Some(Large::Placeholder),
                binary: Some(OnBinary::Placeholder),
                symlinks: Some(Symlinks::File),
                ..reader
            },
            Profile::Searcher => Self {
                large: Some(Large::Empty),
                binary: Some(OnBinary::Empty),
                binary_within: Some(SEARCHER_SAMPLE),
                symlinks: Some(Symlinks::Link),
                ..reader
            },
        }
    }

    /// These options, overridden by those in `given`.
    pub(super) fn with(self, given: &Filters) -> Self {
        Self {
            no_attributes: self.no_attributes || given.no_attributes,
            exclude_from_tree: self.exclude_from_tree,
            exclude_grammar: given.exclude_grammar.or(self.exclude_grammar),
            max_size: given.max_size.or(self.max_size),
            large: given.large.or(self.large),
            binary: given.binary.or(self.binary),
            binary_within: given.binary_within.or(self.binary_within),
            symlinks: given.symlinks.or(self.symlinks),
            submodules: given.submodules.or(self.submodules),
            lfs: given.lfs.or(self.lfs),
            missing: given.missing.or(self.missing),
        }
    }

    /// The settings as options of the command line, one a line.
    fn options(&self) -> String {
        let named = |name: &str, value: Option<String>| {
            value.map_or_else(String::new, |value| format!("--{name}={value}\n"))
        };
        [
            String::from(if self.no_attributes {
                "--no-attributes\n"
            } else {
                ""
            }),
            named(
                "exclude-from-tree",
                self.exclude_from_tree.map(str::to_owned),
            ),
            named("exclude-grammar", self.exclude_grammar.map(word)),
            named("max-size", self.max_size.map(|bytes| bytes.to_string())),
            named("large", self.large.map(word)),
            named("binary", self.binary.map(word)),
            named(
                "binary-within",
                self.binary_within.map(|bytes| bytes.to_string()),
            ),
            named("symlinks", self.symlinks.map(word)),
            named("submodules", self.submodules.map(word)),
            named("lfs", self.lfs.map(word)),
            named("missing", self.missing.map(word)),
        ]
        .concat()
    }
}

/// The options that `profile` stands for, one a line. The profile itself if it sets none.
pub fn options(profile: Profile) -> String {
    let options = ProfileSettings::of(profile).options();
    if options.is_empty() {
        format!("--profile={}\n", word(profile))
    } else {
        options
    }
}

/// The error about `option` in the words of `template`, with the option for `{}`. If the user did not give the option, the
/// profile has set it, and the error names the profile.
pub(super) fn refused(given: &Filters, is_given: bool, option: &str, template: &str) -> Error {
    let about = |name: &str| Error::usage(format_bytes(template, &[name.as_bytes()]));
    match setter(given, is_given) {
        None => about(option),
        Some(profile) => about(&profile).caused_by(format!("the profile sets {option}")),
    }
}

/// The profile, as it is typed, that has set an option which the user did not give.
pub(super) fn setter(given: &Filters, is_given: bool) -> Option<String> {
    let profile = given.profile.filter(|_| !is_given)?;
    Some(format!("--profile={}", word(profile)))
}

/// A value as it is typed.
pub(super) fn word<T: ValueEnum>(value: T) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
