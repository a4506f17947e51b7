//! The command line as typed. The crate touches no file, no repository, no terminal.
//!
//! The module `commands` declares each command and each option once, with clap, which reads the values of options. The module
//! `grammar` defines the spelling of options, since git's rules differ from clap's. [`RawArgs`] reads the words of a
//! command; those of an archive are read in two passes, as git does.

mod amount;
mod args;
mod bash;
mod candidates;
mod commands;
mod completions;
mod content;
mod delta;
mod error;
mod extra;
mod filters;
mod fish;
mod grammar;
mod groups;
mod help;
mod likeness;
mod manual;
mod names;
mod pages;
mod parsed;
mod pathspec_file;
mod raw;
mod reports;
mod run;
mod serving;
mod sharing;
mod statuses;
mod tables;
mod topics;
mod zsh;

pub use amount::{number, size};
pub use args::Args;
pub use commands::*;
pub use completions::completions;
pub use content::{ContentOptions, Encoding, GzipCompat, LevelOption};
pub use delta::{Deletions, Delta};
pub use error::CliError;
pub use extra::{Extra, ExtraContent, Untracked};
pub use filters::{
    ExcludeGrammar, Filters, Large, Lfs, OnBinary, OnMissing, Profile, SubmoduleMapping,
    Submodules, Symlinks, word,
};
pub use help::help;
pub use manual::manual;
pub use pathspec_file::pathspecs_from;
pub use raw::{ArchiveWords, RawArgs};
pub use reports::ReportOptions;
pub use run::{BucketOptions, ProgressOptions, RunOptions, Verbosity};
pub use serving::{ByteRange, Condition, Range};
pub use sharing::{Sharing, duration};
pub use statuses::{all_exit_statuses, exit_statuses};
pub use tables::OptionTables;
