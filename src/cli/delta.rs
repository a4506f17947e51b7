//! The options of an archive that holds the changes since a base.

use std::ffi::OsString;

use clap::ValueEnum;

use super::amount::{number, part};

/// The base, and the form and bounds of the changes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Only what changed")]
pub struct Delta {
    /// Send only what changed since this tree or commit
    #[arg(long, value_name = "tree-ish")]
    pub base: Option<OsString>,

    /// Choose how the archive records deleted paths [default: pax]
    #[arg(long, value_name = "how", value_enum)]
    pub deletions: Option<Deletions>,

    /// Treat a file as unchanged if only its permission changed
    #[arg(long)]
    pub ignore_mode: bool,

    /// Exit with status 5 if more paths than this changed
    #[arg(long, value_name = "n", value_parser = number::<u64>(0..=u64::MAX))]
    pub max_changed_paths: Option<u64>,

    /// Exit with status 5 if more than this part of all paths changed, such as 0.25 or 25%
    #[arg(long, value_name = "part", value_parser = part)]
    pub max_changed_ratio: Option<f64>,

    /// Check that base and delta make the target before the first byte is sent
    #[arg(long)]
    pub verify_delta: bool,
}

/// `--deletions`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deletions {
    /// Only in the manifest
    None,
    /// In global pax headers, which --apply reads and other programs skip
    Pax,
}
