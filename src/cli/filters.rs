//! The options that filter the archive, and those that report about a run.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use clap::{Arg, Command, ValueEnum, builder::TypedValueParser, error::ErrorKind};
use gix::bstr::{BString, ByteSlice};

use super::amount::size;

/// Filters and reports. For an option that is not given, the profile decides.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is sent")]
pub struct Filters {
    /// Use a set of the options below, made for one reader
    #[arg(long, value_name = "name", value_enum)]
    pub profile: Option<Profile>,

    /// Print the options of the profile, and exit
    #[arg(long)]
    pub print_profile: bool,

    /// Send all files as they are stored: ignore attributes and configuration
    #[arg(long)]
    pub raw: bool,

    /// Leave out the paths that match a line of this file in the tree: one glob a line, as in
    /// .sourcegraph/ignore
    #[arg(long, value_name = "path")]
    pub ignore_file: Vec<OsString>,

    /// Leave out the paths that match a line of this file on disk
    #[arg(long, value_name = "file")]
    pub ignore_from: Vec<OsString>,

    /// Leave out the paths that match this glob
    #[arg(long, value_name = "glob")]
    pub ignore: Vec<OsString>,

    /// Choose what happens to a line that is not a glob
    #[arg(long, value_name = "how", value_enum, default_value = "error")]
    pub ignore_errors: IgnoreErrors,

    /// Limit the size of files, in bytes or with the suffix k, m or g
    #[arg(long, value_name = "n", value_parser = size)]
    pub max_size: Option<u64>,

    /// Send files that match this glob whatever their size; a leading ! restores the limit; the last
    /// glob that matches decides
    #[arg(long, value_name = "glob")]
    pub large_file: Vec<OsString>,

    /// Choose what is sent of files above --max-size [default: omit]
    #[arg(long, value_name = "what", value_enum)]
    pub oversize: Option<Oversize>,

    /// Choose what is sent of binary files, which contain a NUL [default: full]
    #[arg(long, value_name = "what", value_enum)]
    pub binary: Option<OnBinary>,

    /// Look for the NUL only in this many bytes from the start
    #[arg(long, value_name = "n", value_parser = size)]
    pub binary_within: Option<u64>,

    /// Choose how symbolic links are sent [default: link]
    #[arg(long, value_name = "as", value_enum)]
    pub symlinks: Option<Symlinks>,

    /// Choose how submodules are sent [default: dir]
    #[arg(long, value_name = "as", value_enum)]
    pub submodules: Option<Submodules>,

    /// Take the content of this submodule from another repository; no submodule is looked for elsewhere
    #[arg(long, value_name = "path|name=git-dir", value_parser = MappingParser)]
    pub submodule: Vec<SubmoduleMapping>,

    /// Choose what is sent of Git LFS files [default: what the configured filter makes of them]
    #[arg(long, value_name = "what", value_enum)]
    pub lfs: Option<Lfs>,

    /// Choose what happens to objects that a partial clone lacks, or the local LFS store [default: fetch]
    #[arg(long, value_name = "what", value_enum)]
    pub missing: Option<OnMissing>,

    /// Send and mention only paths that these rules allow
    #[arg(long, value_name = "file|fd:n")]
    pub access_rules: Option<OsString>,

    /// Add pax records with size, reason and blob id
    #[arg(long)]
    pub pax_notes: bool,

    /// Exit with status 4 if there is no regular file to send
    #[arg(long)]
    pub fail_if_empty: bool,

    /// Write one JSON line for each entry to this place
    ///
    /// In a request of --batch, band:4 to band:9 name channels of the answer.
    #[arg(long, value_name = "file|fd:n")]
    pub manifest: Option<OsString>,

    /// Write one JSON object about the run to this place
    ///
    /// In a request of --batch, band:4 to band:9 name channels of the answer.
    #[arg(long, value_name = "file|fd:n")]
    pub summary: Option<OsString>,

    /// List the files that would be sent, with sizes, without reading them
    #[arg(long)]
    pub dry_run: bool,

    /// Name the rule that decides about this path, and exit; may be given several times
    ///
    /// With --base: whether the path is added, changed, deleted or unchanged, and the rules on both sides.
    #[arg(long, value_name = "path")]
    pub explain: Vec<OsString>,
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

/// `--ignore-errors`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IgnoreErrors {
    /// Stop before the first byte
    #[default]
    Error,
    /// Warn, and continue without the line
    Warn,
}

/// `--oversize`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Oversize {
    /// The whole file
    Full,
    /// Leave the file out
    Omit,
    /// An empty placeholder
    Zero,
    /// A placeholder that is one byte larger than the limit, as a sparse file (tar only)
    Sparse,
}

/// `--binary`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnBinary {
    /// The whole file
    Full,
    /// Leave the file out
    Omit,
    /// An empty placeholder
    Zero,
    /// A placeholder of three NULs
    Nuls,
}

/// `--symlinks`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Symlinks {
    /// As links
    Link,
    /// As regular files that hold the target
    File,
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
    /// With that content where the commit is there, else as empty directories
    RecursePresent,
}

/// `--lfs`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lfs {
    /// The pointers, as if no filter were configured
    Pointer,
    /// The content, from the local LFS store and without git-lfs
    Content,
}

/// `--missing`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissing {
    /// Fetch all that the archive needs from the promisor remotes, at once
    Fetch,
    /// Fail, as always where an LFS object is missing
    Error,
    /// Treat the file as one above --max-size; send the pointer of an LFS file
    Placeholder,
    /// Leave the file out
    Omit,
}

/// `--submodule`
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
            let message = "option `submodule' expects <path or name>=<git dir>\n";
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
        };
        Ok(SubmoduleMapping {
            submodule: submodule.trim_end_with(|c| c == '/').into(),
            git_dir: OsStr::from_bytes(git_dir).into(),
        })
    }
}
