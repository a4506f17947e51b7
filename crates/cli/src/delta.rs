//! The options of an archive that holds the changes since a base.

use std::ffi::OsString;

use clap::ValueEnum;

use super::amount::{number, part};

/// The heading in help and manual.
pub(super) const HEADING: &str = "Changes";

/// The base, and the form and bounds of the changes.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct Delta {
    /// Send only what changed since this tree or commit
    #[arg(long, value_name = "tree-ish", conflicts_with = "stable")]
    pub base: Option<OsString>,

    /// Exit with status 3 if the base was sent with other filters
    ///
    /// The manifest of the base contains the hash as `filters`.
    #[arg(long, value_name = "hash")]
    pub base_filters: Option<String>,

    /// Choose how the archive records deleted paths
    #[arg(long, value_name = "action", value_enum)]
    pub deletions: Option<Deletions>,

    /// Ignore changes of permissions alone
    #[arg(long)]
    pub ignore_mode_changes: bool,

    /// Exit with status 5 if more paths than this changed
    #[arg(long, value_name = "count", value_parser = number::<u64>(0..=u64::MAX))]
    pub max_changed_paths: Option<u64>,

    /// Exit with status 5 if more than this share of paths changed
    ///
    /// The share is a number such as 0.25, or a percentage such as 25%.
    #[arg(long, value_name = "fraction", value_parser = part)]
    pub max_changed_ratio: Option<f64>,
}

/// `--deletions`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deletions {
    /// Only in the manifest
    None,
    /// In global pax headers, which apply reads and other programs skip
    Pax,
}
