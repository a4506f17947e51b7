//! `cargo xtask measure cold`: git-sluice and git on storage where each request takes a chosen time.
//!
//! A file system (`xtask/mirror`) mirrors the repository, waits before each answer and counts the requests. It is mounted
//! for one run only, so that each run finds an empty page cache. No figure is printed before the bytes of both programs
//! are equal.

mod counts;
mod failing;
mod latency;
mod mount;
mod program;
mod report;
mod trial;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::measure::compare::repository_directory;
use crate::measure::header::header;
use crate::{binary, process};
use mount::Mirror;
use program::Commands;
use trial::Trial;

/// Time git-sluice and git archive on slow storage with an empty page cache
///
/// A FUSE file system mirrors each repository read-only. A read waits for the latency. A request that looks up a name, asks
/// for attributes, opens a file or lists a directory waits for a quarter of it. Requests do not wait for each other, so a
/// hundred reads at once take as long as one. The kernel caches pages, names and attributes during a run, as it does for
/// a disk, and forgets them before the next run. Alternate object stores outside the directory are read without a wait.
/// Figures are medians. Needs Linux, /dev/fuse and the right to mount.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repository to archive from, usually a bare one; repeatable
    #[arg(long, value_name = "DIR", required = true)]
    repository: Vec<PathBuf>,

    /// Revision to archive
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,

    /// Wait of a read, such as 500us or 5ms; repeatable
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "1ms,5ms", value_parser = latency::parse)]
    latency: Vec<Duration>,

    /// Archive formats
    #[arg(long, value_name = "F,…", value_delimiter = ',', default_value = "tar")]
    format: Vec<String>,

    /// How often each program takes its turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// The git-sluice to measure [default: the release binary, which is built]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Let reads fail after this many reads and report how both programs end [default: 1, 2, 4, … until both succeed]
    #[arg(long, value_name = "READS,…", num_args = 0.., value_delimiter = ',', require_equals = true)]
    fail_after: Option<Vec<u64>>,

    /// Fail if git-sluice handles a failed read wrongly
    #[arg(long, requires = "fail_after")]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mirror = Mirror::build()?;
    if let Some(obstacle) = mirror.obstacle() {
        println!("SKIP: {obstacle}");
        return Ok(());
    }
    let git_sluice = match &args.binary {
        Some(binary) => binary
            .canonicalize()
            .with_context(|| format!("no program '{}'", binary.display()))?,
        None => binary::build()?,
    };
    let rounds = format!("medians of {} rounds", args.rounds);
    print!("{}", header(&git_sluice, &rounds)?);
    let commands = Commands {
        git_sluice: &git_sluice,
        revision: &args.rev,
    };
    let mut wrong = 0;
    for repository in &args.repository {
        let repository = repository_directory(repository)?;
        match &args.fail_after {
            Some(limits) => wrong += fail(&mirror, &commands, &repository, args, limits)?,
            None => measure(&mirror, &commands, &repository, args)?,
        }
    }
    ensure!(
        !args.check || wrong == 0,
        "{wrong} runs handle a failed read wrongly"
    );
    Ok(())
}

/// Prints the tables of one repository.
fn measure(mirror: &Mirror, commands: &Commands, repository: &Path, args: &Args) -> Result<()> {
    let mut trials = Vec::new();
    for format in &args.format {
        trial::check_bytes(mirror, commands, format, repository)?;
        for &latency in &args.latency {
            let rounds = args.rounds;
            let trial = Trial::run(mirror, commands, format, repository, latency, rounds)?;
            trials.push(trial);
        }
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(repository);
    let commit = process::text(git.args(["rev-parse", &args.rev]))?;
    println!("{} at {commit}:\n", repository.display());
    println!("{}\n{}", report::times(&trials), report::requests(&trials));
    Ok(())
}

/// Prints how runs end whose reads fail, and returns for how many of git-sluice this is unclear.
fn fail(
    mirror: &Mirror,
    commands: &Commands,
    repository: &Path,
    args: &Args,
    limits: &[u64],
) -> Result<usize> {
    let mut ends = Vec::new();
    for format in &args.format {
        ends.extend(failing::run(mirror, commands, format, repository, limits)?);
    }
    println!("{}:\n\n{}", repository.display(), failing::table(&ends));
    let ours = ends.iter().filter(|end| end.is_of_git_sluice());
    let unclear = ours.clone().filter(|end| !end.is_clear()).count();
    println!(
        "{unclear} of {} runs of git-sluice handle a failed read wrongly. A right one ends with a message and exit status \
         128 or 255, and tar rejects its archive.\n",
        ours.count()
    );
    Ok(unclear)
}
