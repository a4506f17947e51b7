//! The options of a request, whichever command they come from.

use std::path::PathBuf;

use super::{
    content::{ContentOptions, Encoding},
    delta::Delta,
    filters::Filters,
    run::{RunOptions, Verbosity},
    serving::{Condition, Range},
    sharing::Sharing,
};

/// The options of a request. Each command sets the groups that it accepts and leaves the others at their defaults.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// The files.
    pub content: ContentOptions,
    /// The format.
    pub encoding: Encoding,
    /// Filters.
    pub filters: Filters,
    /// Options about a base.
    pub delta: Delta,
    /// The condition under which the archive is wanted.
    pub condition: Condition,
    /// The bytes that are wanted.
    pub range: Range,
    /// Options about sharing.
    pub sharing: Sharing,
    /// Threads and memory.
    pub run: RunOptions,
    /// Verbosity.
    pub verbosity: Verbosity,
    /// The file that the archive is written to.
    pub output: Option<PathBuf>,
    /// Whether a manifest is written.
    pub has_manifest: bool,
    /// Whether the archive has to be the same whenever it is made.
    pub fail_if_varies: bool,
}
