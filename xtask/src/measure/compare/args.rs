//! The command line of `cargo xtask measure compare`.

use std::path::PathBuf;

use super::contender::Sink;

/// Time git-sluice against `git archive` on any repositories, and print Markdown tables
///
/// Builds the release binary, checks that both programs write the same bytes, then lets hyperfine
/// run them by turns, without a shell. Each number is a median over
/// all rounds; peak memory comes from runs of its own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repository to archive from, bare or with a work tree (can be repeated)
    #[arg(long, value_name = "R", default_value = ".")]
    pub(super) repo: Vec<PathBuf>,

    /// Revision to archive
    #[arg(long, value_name = "V", default_value = "HEAD")]
    pub(super) rev: String,

    /// Timed runs of each command into each sink
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) runs: u32,

    /// Where the archives go, with rows for each
    #[arg(
        long,
        value_name = "SINK,…",
        value_delimiter = ',',
        default_value = "null,pipe"
    )]
    pub(super) to: Vec<Sink>,

    /// Thread counts to give git-sluice, a row for each [default: leave the choice to git-sluice]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(super) threads: Vec<u32>,

    /// Archive formats to ask both programs for, a table for each
    #[arg(long, value_name = "F,…", value_delimiter = ',', default_value = "tar")]
    pub(super) format: Vec<String>,

    /// Write the medians to benches/figures.json, as the measurement of this name
    #[arg(long, value_name = "NAME")]
    pub(super) record: Option<String>,

    /// Empty the kernel's file caches before each run (needs root)
    #[arg(long)]
    pub(super) drop_caches: bool,
}
