//! The options that filter the archive.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use bstr::{BString, ByteSlice};
use clap::{Arg, Command, ValueEnum, builder::TypedValueParser, error::ErrorKind};

use super::amount::size;

/// The heading in help and manual.
pub(super) const HEADING: &str = "Filters";

/// Filters. For an option that is not given, the profile decides.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = HEADING)]
pub struct Filters {
    /// Use the filters that one program needs
    ///
    /// 'git sluice help zoekt' prints the options of that profile. Other options override them.
    #[arg(long, value_name = "name", value_enum)]
    pub profile: Option<Profile>,

    /// Send stored bytes: ignore attributes and configuration
    #[arg(long)]
    pub no_attributes: bool,

    /// Leave out paths that match this pattern, as in .gitignore
    ///
    /// A leading ! re-includes paths. The last pattern that matches decides; those of --exclude come after those of files.
    #[arg(long, value_name = "pattern")]
    pub exclude: Vec<OsString>,

    /// Leave out paths that match patterns in this file on disk
    #[arg(long, value_name = "file")]
    pub exclude_from: Vec<OsString>,

    /// Leave out paths that match patterns in this file of the tree
    #[arg(long, value_name = "path")]
    pub exclude_from_tree: Vec<OsString>,

    /// Leave out files above this size, such as 2m
    #[arg(long, value_name = "size", value_parser = size)]
    pub max_size: Option<u64>,

    /// Send files that match this glob whatever their size
    ///
    /// A leading ! restores the limit. The last glob that matches decides.
    #[arg(long, value_name = "glob")]
    pub size_exempt: Vec<OsString>,

    /// Choose what is sent of files above --max-size
    ///
    /// Without this option, they are left out.
    #[arg(long, value_name = "action", value_enum)]
    pub large: Option<Large>,

    /// Choose what is sent of binary files, which contain a NUL
    #[arg(long, value_name = "action", value_enum)]
    pub binary: Option<OnBinary>,

    /// Choose how symbolic links are sent
    #[arg(long, value_name = "action", value_enum)]
    pub symlinks: Option<Symlinks>,

    /// Choose how submodules are sent
    ///
    /// Without this option, they are empty directories.
    #[arg(long, value_name = "action", value_enum)]
    pub submodules: Option<Submodules>,

    /// Read this submodule from this git directory
    ///
    /// Submodules are then looked for nowhere else.
    #[arg(long, value_name = "path|name=dir", value_parser = MappingParser)]
    pub submodule_git_dir: Vec<SubmoduleMapping>,

    /// Choose what is sent of Git LFS files
    ///
    /// Without this option, the configured filter decides.
    #[arg(long, value_name = "action", value_enum)]
    pub lfs: Option<Lfs>,

    /// Choose what happens if an object is missing
    ///
    /// Without this option, git-sluice fetches objects that a partial clone lacks.
    #[arg(long, value_name = "action", value_enum)]
    pub missing: Option<OnMissing>,

    /// Send and report only paths that the rules in this file allow
    #[arg(long, value_name = "file|fd:n")]
    pub access_rules: Option<OsString>,

    /// Note blob ids in the tar, and why a file is a placeholder
    ///
    /// The notes are pax records, which other programs skip.
    #[arg(long, conflicts_with = "stable")]
    pub pax_notes: bool,

    /// How files of the tree spell patterns. Only a profile sets it.
    #[arg(skip)]
    pub exclude_grammar: ExcludeGrammar,

    /// The bytes from the start of a file in which a NUL counts. Only a profile sets it.
    #[arg(skip)]
    pub binary_within: Option<usize>,
}

/// A filter is one field here, with its name, its value and its place in each of these functions.
impl Filters {
    /// These filters, and those of a `profile` where they say nothing. Lists come after those of the profile.
    pub fn or(self, profile: Self) -> Self {
        let both = |first: Vec<OsString>, second: Vec<OsString>| [first, second].concat();
        Self {
            profile: self.profile,
            no_attributes: self.no_attributes || profile.no_attributes,
            exclude: both(profile.exclude, self.exclude),
            exclude_from: both(profile.exclude_from, self.exclude_from),
            exclude_from_tree: both(profile.exclude_from_tree, self.exclude_from_tree),
            max_size: self.max_size.or(profile.max_size),
            size_exempt: both(profile.size_exempt, self.size_exempt),
            large: self.large.or(profile.large),
            binary: self.binary.or(profile.binary),
            symlinks: self.symlinks.or(profile.symlinks),
            submodules: self.submodules.or(profile.submodules),
            submodule_git_dir: self.submodule_git_dir,
            lfs: self.lfs.or(profile.lfs),
            missing: self.missing.or(profile.missing),
            access_rules: self.access_rules,
            pax_notes: self.pax_notes,
            exclude_grammar: profile.exclude_grammar,
            binary_within: profile.binary_within,
        }
    }

    /// The filters that a profile may have, as options of the command line, one a line.
    pub fn words(&self) -> String {
        let named = |name: &str, value: Option<String>| {
            value.map_or_else(String::new, |value| format!("--{name}={value}\n"))
        };
        let files = self.exclude_from_tree.iter();
        let files = files.map(|file| named("exclude-from-tree", Some(file.display().to_string())));
        let no_attributes = self.no_attributes.then_some("--no-attributes\n");
        [
            no_attributes.unwrap_or_default().to_owned(),
            files.collect(),
            named("max-size", self.max_size.map(|size| size.to_string())),
            named("large", self.large.map(word)),
            named("binary", self.binary.map(word)),
            named("symlinks", self.symlinks.map(word)),
            named("submodules", self.submodules.map(word)),
            named("lfs", self.lfs.map(word)),
            named("missing", self.missing.map(word)),
        ]
        .concat()
    }

    /// All that decides which files are sent, and how, as far as the options say it.
    pub fn key(&self) -> String {
        let Self {
            // In the other fields.
            profile: _,
            // Their texts decide.
            exclude_from: _,
            access_rules: _,
            // Where an object is does not change the object.
            submodule_git_dir: _,
            // Adds to the headers of files.
            pax_notes: _,
            no_attributes,
            exclude,
            exclude_from_tree,
            exclude_grammar,
            max_size,
            size_exempt,
            large,
            binary,
            binary_within,
            symlinks,
            submodules,
            lfs,
            missing,
        } = self;
        let rules = (exclude, exclude_from_tree, exclude_grammar);
        let sizes = (max_size, size_exempt, large);
        let kinds = (binary, binary_within, symlinks, submodules, lfs, missing);
        format!("{no_attributes} {rules:?} {sizes:?} {kinds:?}")
    }
}

/// A value as it is typed.
pub fn word<T: ValueEnum>(value: T) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// `--profile`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// All files, as git archive sends them
    #[default]
    Git,
    /// The files from which zoekt-archive-index makes the index that zoekt-git-index makes
    Zoekt,
    /// The files that Sourcegraph's searcher searches
    Searcher,
}

impl Profile {
    /// The profile of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }
}

/// The grammar of exclude rules in files of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExcludeGrammar {
    /// Patterns of gitignore(5)
    #[default]
    Gitignore,
    /// Globs for whole paths, as in .sourcegraph/ignore
    Sourcegraph,
}

/// `--large`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Large {
    /// The whole file
    Keep,
    /// Leave the file out
    Omit,
    /// An empty file
    Empty,
    /// A sparse file that is one byte larger than the limit (tar only)
    Placeholder,
}

/// `--binary`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnBinary {
    /// The whole file
    Keep,
    /// Leave the file out
    Omit,
    /// An empty file
    Empty,
    /// A file of three NULs
    Placeholder,
}

/// `--symlinks`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Symlinks {
    /// As links
    Link,
    /// As regular files that hold the target
    File,
    /// As copies of the file or directory that they lead to, within the tree
    Copy,
}

/// `--submodules`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Submodules {
    /// As empty directories
    Dir,
    /// Not at all
    Omit,
    /// With the content of the commit that the tree names
    Recurse,
    /// With that content if the commit is available, else as empty directories
    RecursePresent,
}

/// `--lfs`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lfs {
    /// The pointers, as if no filter were configured
    Pointer,
    /// The content, from the local LFS store and without git-lfs
    Content,
    /// The content where the store has it, else the pointers
    ContentPresent,
}

/// `--missing`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissing {
    /// Fetch all that the archive needs from the promisor remotes, at once
    Fetch,
    /// Fail
    Error,
    /// Send a placeholder; for an LFS file, its pointer
    Placeholder,
    /// Leave the file out
    Omit,
}

/// `--submodule-git-dir`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmoduleMapping {
    /// The path in the archived tree, or the name in `.gitmodules`.
    pub submodule: BString,
    /// The git directory.
    pub git_dir: PathBuf,
}

/// Parses a [`SubmoduleMapping`].
#[derive(Clone)]
struct MappingParser;

impl TypedValueParser for MappingParser {
    type Value = SubmoduleMapping;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<SubmoduleMapping, clap::Error> {
        let parts = value.as_bytes().split_once_str("=");
        let parts =
            parts.filter(|(submodule, git_dir)| !submodule.is_empty() && !git_dir.is_empty());
        let Some((submodule, git_dir)) = parts else {
            let message = "option `submodule-git-dir' expects <path or name>=<dir>\n";
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
        };
        Ok(SubmoduleMapping {
            submodule: submodule.trim_end_with(|c| c == '/').into(),
            git_dir: OsStr::from_bytes(git_dir).into(),
        })
    }
}
