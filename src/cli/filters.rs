//! The options that say what is not sent, and what the calling program is told of it.

use std::ffi::OsString;

use clap::ValueEnum;

use super::ours::size;

/// What is sent, and in what form. Unset, the profile decides.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "What is sent")]
pub struct Filters {
    /// A set of the options below, for a reader that is known
    #[arg(long, value_name = "name", value_enum)]
    pub profile: Option<Profile>,

    /// Print what the profile stands for, and nothing else
    #[arg(long)]
    pub print_profile: bool,

    /// No attribute and no configuration changes or leaves out a file
    #[arg(long)]
    pub raw: bool,

    /// Leave out what this file of the tree lists, one glob a line, as .sourcegraph/ignore does
    #[arg(long, value_name = "path")]
    pub ignore_file: Vec<OsString>,

    /// The same from a file that is not of the tree
    #[arg(long, value_name = "file")]
    pub ignore_from: Vec<OsString>,

    /// Leave out what matches this glob
    #[arg(long, value_name = "glob")]
    pub ignore: Vec<OsString>,

    /// What to do about a line that is no glob
    #[arg(long, value_name = "how", value_enum, default_value = "error")]
    pub ignore_errors: IgnoreErrors,

    /// Send no file of more bytes than this (also with k, m or g)
    #[arg(long, value_name = "n", value_parser = size)]
    pub max_size: Option<u64>,

    /// Send files that match this glob whatever their size; with a ! in front, do not; the last one
    /// that matches decides
    #[arg(long, value_name = "glob")]
    pub large_file: Vec<OsString>,

    /// What to send of files above the limit [default: omit]
    #[arg(long, value_name = "what", value_enum)]
    pub oversize: Option<Oversize>,

    /// What to send of files with a NUL in them [default: full]
    #[arg(long, value_name = "what", value_enum)]
    pub binary: Option<OnBinary>,

    /// Look for the NUL in so many bytes only, from the first on
    #[arg(long, value_name = "n", value_parser = size)]
    pub binary_within: Option<u64>,

    /// Send symbolic links as such, or as files that hold the target [default: link]
    #[arg(long, value_name = "as", value_enum)]
    pub symlinks: Option<Symlinks>,

    /// Send submodules as empty directories, or not at all [default: dir]
    #[arg(long, value_name = "as", value_enum)]
    pub submodules: Option<Submodules>,

    /// What to do about files that a partial clone lacks [default: error]
    #[arg(long, value_name = "what", value_enum)]
    pub missing: Option<OnMissing>,

    /// Send what these rules allow, and tell of nothing else
    #[arg(long, value_name = "file|fd:n")]
    pub access_rules: Option<OsString>,

    /// Say size, reason and blob id in pax records
    #[arg(long)]
    pub pax_notes: bool,

    /// Exit with status 4 if there is no file to send
    #[arg(long)]
    pub fail_if_empty: bool,

    /// Write what became of each entry here, as JSON lines
    #[arg(long, value_name = "file|fd:n")]
    pub manifest: Option<OsString>,

    /// Write what the run did here, as JSON
    #[arg(long, value_name = "file|fd:n")]
    pub summary: Option<OsString>,

    /// List what would be sent, with sizes; read no file
    #[arg(long)]
    pub dry_run: bool,

    /// Say which rule decides about this path, and nothing else
    #[arg(long, value_name = "path")]
    pub explain: Option<OsString>,
}

/// `--profile`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// What git archive sends
    #[default]
    Git,
    /// What zoekt-archive-index makes the same index of as zoekt-git-index of the repository
    Zoekt,
    /// What Sourcegraph's searcher looks at
    Searcher,
}

/// `--ignore-errors`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IgnoreErrors {
    /// Stop before the first byte
    #[default]
    Error,
    /// Warn, and go on without the line
    Warn,
}

/// `--oversize`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Oversize {
    /// All of it
    Full,
    /// Nothing
    Omit,
    /// The name, with no content
    Zero,
    /// The name, with a hole that is one byte larger than the limit (tar only)
    Sparse,
}

/// `--binary`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnBinary {
    /// All of it
    Full,
    /// Nothing
    Omit,
    /// The name, with no content
    Zero,
    /// The name, with three NULs as content
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
}

/// `--missing`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissing {
    /// Fail
    Error,
    /// As if it were above the limit
    Placeholder,
    /// Leave it out
    Omit,
}
