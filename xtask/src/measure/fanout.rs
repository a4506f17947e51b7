//! `cargo xtask measure fanout`: many clients that ask for one archive at once, as jobs of one CI pipeline do.
//!
//! No figure is printed before every contender's bytes are those of `git archive`. All contenders run in the
//! same rounds, since a slow minute of the machine must fall on all of them.

mod bars;
mod clients;
mod contender;
mod report;
#[cfg(test)]
mod tests;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::binary;
use crate::measure::compare::repository_directory;
use crate::measure::header::header;
use contender::Request;
use trial::Trial;

/// Time many clients of one archive: git, git-sluice without and with its cache, and both as servers
///
/// Each client has a pipe of its own, with a reader that discards the bytes. First the bytes of all clients are
/// compared with those of `git archive`. Then the contenders take turns; a run that is not counted precedes each
/// turn. The figures are medians, and each ratio is the median of the ratios of one round. Caches lie in the
/// directory for temporary files; bytes written to a file system in memory are not counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repository to archive from, bare or with a work tree
    #[arg(long, value_name = "R", default_value = ".")]
    repo: PathBuf,

    /// Revision to archive; git's server knows refs only
    #[arg(long, value_name = "V", default_value = "HEAD")]
    rev: String,

    /// Clients at once
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,

    /// Archive formats to ask for, tables for each
    #[arg(
        long,
        value_name = "F,…",
        value_delimiter = ',',
        default_value = "tar,tar.gz"
    )]
    format: Vec<String>,

    /// How often each contender takes its turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// The git-sluice to measure [default: the release binary, which is built]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Fail if a bar is missed
    #[arg(long)]
    check: bool,

    /// Write the figures of each turn to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Plot when the clients have their archives; with several formats, a file for each, named after it
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let git_sluice = binary::at_or_built(args.binary.as_deref())?;
    print!("{}", header(&git_sluice, args.rounds)?);
    let (mut trials, mut missed) = (Vec::new(), 0);
    for format in &args.format {
        let request = Request {
            git_sluice: git_sluice.clone(),
            repository: repository_directory(&args.repo)?,
            revision: args.rev.clone(),
            format: format.clone(),
        };
        let trial = Trial::run(&request, args.jobs, args.rounds)?;
        print!("{}", report::tables(&trial));
        let bars = bars::of(&trial);
        println!("{}", bars::table(&bars));
        missed += bars.iter().filter(|bar| bar.is_missed()).count();
        trials.push(trial);
    }
    if let Some(file) = &args.csv {
        write(file, &report::csv(&trials))?;
    }
    if let Some(file) = &args.plot {
        for trial in &trials {
            write(&plot_file(file, trial, trials.len()), &report::plot(trial))?;
        }
    }
    ensure!(!args.check || missed == 0, "{missed} bars are missed");
    Ok(())
}

fn plot_file(file: &Path, trial: &Trial, formats: usize) -> PathBuf {
    if formats == 1 {
        return file.to_owned();
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-{}.svg", trial.format))
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("could not write '{}'", file.display()))
}
