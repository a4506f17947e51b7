//! The filters of each profile. Must not read anything.

use sluice_base::error::{Error, format_bytes};
use sluice_cli::{
    ExcludeGrammar, Filters, Large, OnBinary, OnMissing, Profile, Submodules, Symlinks, word,
};

/// Where zoekt and the searcher look for exclude rules.
const IGNORE_FILE: &str = ".sourcegraph/ignore";
/// The largest file that zoekt and the searcher read by default, in bytes.
const FILE_LIMIT: u64 = 2 << 20;
/// How much of a file the searcher looks at to tell whether it is binary.
const SEARCHER_SAMPLE: usize = 32 << 10;

/// The filters of `profile`.
pub(super) fn filters(profile: Profile) -> Filters {
    let reader = Filters {
        no_attributes: true,
        exclude_from_tree: vec![IGNORE_FILE.into()],
        exclude_grammar: ExcludeGrammar::Sourcegraph,
        max_size: Some(FILE_LIMIT),
        submodules: Some(Submodules::Omit),
        missing: Some(OnMissing::Placeholder),
        ..Filters::default()
    };
    match profile {
        Profile::Git => Filters::default(),
        Profile::Zoekt => Filters {
            large: Some(Large::Placeholder),
            binary: Some(OnBinary::Placeholder),
            symlinks: Some(Symlinks::File),
            ..reader
        },
        Profile::Searcher => Filters {
            large: Some(Large::Empty),
            binary: Some(OnBinary::Empty),
            binary_within: Some(SEARCHER_SAMPLE),
            symlinks: Some(Symlinks::Link),
            ..reader
        },
    }
}

/// The options that `profile` stands for, one a line, and what no option sets. The profile itself if it sets none.
pub fn options(profile: Profile) -> String {
    let filters = filters(profile);
    let options = filters.words();
    if options.is_empty() {
        return format!("--profile={}\n", word(profile));
    }
    let rules = match filters.exclude_grammar {
        ExcludeGrammar::Gitignore => "",
        ExcludeGrammar::Sourcegraph => {
            "Each line of an exclude file in the tree is a glob for the whole path of a file.\n"
        }
    };
    let binary = filters.binary_within.map_or_else(String::new, |bytes| {
        format!("A file is binary if one of its first {bytes} bytes is a NUL.\n")
    });
    options + rules + &binary
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
