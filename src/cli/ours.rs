//! The options that `git archive` does not have.

use std::{ffi::OsString, path::PathBuf};

use super::amount::{number, size};

/// Options that `git archive` does not have.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Beyond git archive")]
pub struct Ours {
    /// Number of threads [default: the number of processors, fewer on a busy machine]
    #[arg(short = 'j', long, value_name = "n", value_parser = number::<u16>(1..=1024))]
    pub threads: Option<u16>,

    /// Ceiling for the memory of buffers and caches, in bytes or with the suffix k, m or g
    #[arg(long, value_name = "n", default_value = "128m", value_parser = size)]
    pub memory: u64,

    /// Show the progress of a longer run on stderr, even without a terminal
    #[arg(long, overrides_with = "no_progress")]
    pub progress: bool,

    /// Show no progress
    #[arg(long, overrides_with = "progress")]
    pub no_progress: bool,

    /// Choose the compressed bytes of a tar.gz
    #[arg(long, value_name = "dialect", default_value = "git", value_enum)]
    pub gzip_dialect: GzipDialect,

    /// Apply an archive to this directory, which holds the tree of the archive's base
    ///
    /// The argument names the archive; without an argument, or with -, the archive is read from standard
    /// input. The file .git-sluice in the directory says which commit the directory holds. It must be a
    /// regular file of the user who applies.
    ///
    /// A delta goes over its base. A full archive takes the place of what archives have brought before, which
    /// .git-sluice.files lists; other files stay.
    ///
    /// --apply checks that .git-sluice names the base of the archive, and checks the archive: its names and
    /// its end. --apply does not read the files in the directory: a file that was changed there stays
    /// changed unless the archive writes or deletes it, and the exit status is 0. --verify reads them.
    #[arg(long, value_name = "dir")]
    pub apply: Option<PathBuf>,

    /// Compare the directory of --apply with what archives have brought there, before another one is applied
    ///
    /// Without an archive, only compare; - is an archive on standard input. Each path that differs is a line on
    /// standard output: missing, kind, permissions or content, and the path. Then nothing is applied and the exit
    /// status is 12. What no archive has brought is not looked at.
    #[arg(long)]
    pub verify: bool,

    /// As --verify, but where something differs, a full archive of any commit writes everything again
    #[arg(long)]
    pub repair: bool,

    /// List the objects, LFS objects and submodules that the archive needs and the repository lacks, as JSON lines
    ///
    /// Nothing is fetched. Exit with status 9 if something is missing. The last line says whether the list is complete:
    /// below a missing directory more may be missing.
    #[arg(long)]
    pub list_missing: bool,

    /// Print the manual page or the completions of a shell, and exit
    #[arg(long, value_name = "text", value_enum)]
    pub generate: Option<Guide>,

    /// Archive only the paths in this file, one a line; - is standard input
    #[arg(long, value_name = "file")]
    pub pathspec_from_file: Option<OsString>,

    /// Each path in that file ends with NUL, and no path is quoted
    #[arg(long)]
    pub pathspec_file_nul: bool,
}

/// `--generate`
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Guide {
    /// The manual page
    Man,
    /// Completions for bash, `git sluice` included
    CompleteBash,
    /// Completions for zsh
    CompleteZsh,
    /// Completions for fish
    CompleteFish,
}

/// `--gzip-dialect`
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum GzipDialect {
    /// The bytes of git since 2.38, made by zlib
    Git,
    /// The bytes of gzip -n, made by older versions of git and published by code hosts
    Gnu,
}
