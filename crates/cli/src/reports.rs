//! The reports about a run.

use std::ffi::OsString;

use super::names::BYTES;

/// The heading in help and manual.
pub(super) const HEADING: &str = "Reports";

/// Reports about an archive.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct ReportOptions {
    /// Write one JSON line for each entry to this file
    ///
    /// A name such as fd:3 is an open descriptor. In a request of a batch, band:4 to band:9 name bands of the answer.
    #[arg(long, value_name = "file|fd:n")]
    pub manifest: Option<OsString>,

    /// Write one JSON object about the run to this file
    ///
    /// A name such as fd:3 is an open descriptor. In a request of a batch, band:4 to band:9 name bands of the answer.
    #[arg(long, value_name = "file|fd:n")]
    pub summary: Option<OsString>,

    /// Exit with status 4 if there is no regular file to send
    #[arg(long)]
    pub fail_if_empty: bool,

    /// Exit with status 12 if the bytes may change later
    ///
    /// They may if they depend on more than the tree-ish and the options, for example on names of tags. The names of such files,
    /// settings and variables go to stderr, and no byte of the archive is written. --stable includes this option.
    #[arg(long, help_heading = BYTES)]
    pub fail_if_varies: bool,
}
