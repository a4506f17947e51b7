//! The options about a run that change no byte of an archive.

use std::time::Duration;

use clap::ArgAction;

use super::{
    amount::{number, size},
    names::{BEYOND, OF_GIT},
    sharing::duration,
};

/// The default of `--memory`, in bytes.
const DEFAULT_MEMORY: u64 = 128 << 20;
/// The least limit in bytes. A smaller one saves no memory and makes a run several times slower, so megabytes are meant.
const LEAST_MEMORY: u64 = 1 << 20;

/// Parse a limit of memory.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes < LEAST_MEMORY => Err("less than 1m".to_owned()),
        bytes => Ok(bytes),
    }
}

/// The threads of commands that work on a directory.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = BEYOND)]
pub struct DirectoryThreads {
    /// Use this many threads
    ///
    /// By default, there is one for each processor, up to 8.
    #[arg(short = 'j', long = "threads", value_name = "count", value_parser = number::<u16>(1..=1024))]
    pub count: Option<u16>,
}

/// Threads and memory.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = BEYOND)]
pub struct RunOptions {
    /// Use this many threads
    ///
    /// By default, there is one for each processor, fewer on a busy machine.
    #[arg(short = 'j', long, value_name = "count", value_parser = number::<u16>(1..=1024))]
    pub threads: Option<u16>,

    /// Limit memory for buffers and caches, such as 64m
    #[arg(long, value_name = "size", default_value = "128m", value_parser = memory)]
    pub memory: u64,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: None,
            memory: DEFAULT_MEMORY,
        }
    }
}

/// Whether a longer run shows how far it is.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = BEYOND)]
pub struct ProgressOptions {
    /// Show progress on stderr, even without a terminal
    #[arg(long, overrides_with = "no_progress")]
    pub progress: bool,

    /// Show no progress
    #[arg(long, overrides_with = "progress")]
    pub no_progress: bool,
}

/// `-v`
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Verbosity {
    /// Report archived files on stderr
    #[arg(short, long, action = ArgAction::Count, help_heading = OF_GIT)]
    pub verbose: u8,
}

impl Verbosity {
    /// Whether names are reported. As in git, `-v` given twice is off again.
    pub fn is_verbose(&self) -> bool {
        self.verbose % 2 == 1
    }
}

/// Options of the commands that use a bucket.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = BEYOND)]
pub struct BucketOptions {
    /// Give up a request to a bucket after this time
    ///
    /// The time is in seconds, or has the suffix m, h or d. The exit status is 10.
    #[arg(long, value_name = "duration", default_value = "20s", value_parser = duration)]
    pub timeout: Duration,
}
