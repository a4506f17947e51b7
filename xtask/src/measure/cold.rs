//! `cargo xtask measure cold`: git-sluice and git on storage where each request takes a chosen time.
//!
//! A file system (`xtask/mirror`) mirrors the repository, waits before each answer and counts the requests. It is mounted
//! for one run only, so that each run finds an empty page cache. No figure is printed before the bytes of both programs
//! are equal.

mod bars;
mod case;
mod counts;
mod failing;
mod latency;
mod mount;
mod one_file;
mod report;
mod trial;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::measure::compare::repository_directory;
use crate::measure::header::header;
use crate::{binary, process, scratch};
use case::{Case, Commands};
use mount::Mirror;
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
    #[arg(long, value_name = "DIR")]
    repository: Vec<PathBuf>,

    /// Name of each --repository, which selects its bars: git, rails, u-boot [default: the name of the directory]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,

    /// Also make a repository of this many files whose last commit changes one, and measure its delta
    #[arg(long, value_name = "FILES", num_args = 0..=1, default_missing_value = "100000", require_equals = true)]
    one_file: Option<u32>,

    /// Revision to archive
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,

    /// Wait of a read, such as 500us or 5ms; repeatable
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "1ms,5ms", value_parser = latency::parse)]
    latency: Vec<Duration>,

    /// Archive formats of the whole tree [default: tar, unless --path or --base is given]
    #[arg(long, value_name = "F,…", value_delimiter = ',')]
    format: Vec<String>,

    /// Archive only this path; repeatable
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,

    /// Compare the delta since this revision with `git diff-tree -r`
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// How often each program takes its turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// The git-sluice to measure [default: the release binary, which is built]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Let reads fail after this many reads and report how both programs end [default: 1, 2, 4, … until both succeed]
    #[arg(long, value_name = "READS,…", num_args = 0.., value_delimiter = ',', require_equals = true)]
    fail_after: Option<Vec<u64>>,

    /// Fail if a bar is missed, or if git-sluice handles a failed read wrongly
    #[arg(long)]
    check: bool,
}

/// A repository to measure.
struct Subject {
    name: String,
    directory: PathBuf,
    cases: Vec<Case>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        args.name.len() <= args.repository.len(),
        "each --name needs a --repository"
    );
    let mirror = Mirror::build()?;
    if let Some(obstacle) = mirror.obstacle() {
        println!("SKIP: {obstacle}");
        return Ok(());
    }
    let git_sluice = binary::at_or_built(args.binary.as_deref())?;
    print!("{}", header(&git_sluice, args.rounds)?);
    let made = scratch::directory()?;
    let subjects = subjects(args, made.path())?;
    ensure!(!subjects.is_empty(), "give --repository or --one-file");
    let mut problems = 0;
    for subject in &subjects {
        let commands = Commands {
            git_sluice: &git_sluice,
            revision: &args.rev,
        };
        problems += match &args.fail_after {
            Some(limits) => fail(&mirror, &commands, subject, limits)?,
            None => measure(&mirror, &commands, subject, args)?,
        };
    }
    ensure!(
        !args.check || problems == 0,
        match args.fail_after {
            Some(_) => format!("{problems} runs handle a failed read wrongly"),
            None => format!("{problems} bars are missed"),
        }
    );
    Ok(())
}

/// Prints the tables of one repository, and returns the number of bars that are missed.
fn measure(mirror: &Mirror, commands: &Commands, subject: &Subject, args: &Args) -> Result<usize> {
    let mut trials = Vec::new();
    for case in &subject.cases {
        trial::check_bytes(mirror, commands, case, &subject.directory)?;
        for &latency in &args.latency {
            let directory = &subject.directory;
            trials.push(Trial::run(
                mirror,
                commands,
                case,
                directory,
                latency,
                args.rounds,
            )?);
        }
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(&subject.directory);
    let commit = process::text(git.args(["rev-parse", &args.rev]))?;
    println!("{} at {commit}:\n", subject.name);
    println!("{}\n{}", report::times(&trials), report::requests(&trials));
    let bars = bars::of(&subject.name, &commit, &trials);
    if !bars.is_empty() {
        println!("{}", bars::table(&bars));
    }
    Ok(bars.iter().filter(|bar| bar.is_missed()).count())
}

/// Prints how runs end whose reads fail, and returns for how many of git-sluice this is unclear.
fn fail(mirror: &Mirror, commands: &Commands, subject: &Subject, limits: &[u64]) -> Result<usize> {
    let mut ends = Vec::new();
    for case in &subject.cases {
        if case.has_equal_bytes() {
            ends.extend(failing::run(
                mirror,
                commands,
                case,
                &subject.directory,
                limits,
            )?);
        }
    }
    println!("{}:\n\n{}", subject.name, failing::table(&ends));
    let ours = ends.iter().filter(|end| end.is_of_git_sluice());
    let unclear = ours.clone().filter(|end| !end.is_clear()).count();
    println!(
        "{unclear} of {} runs of git-sluice handle a failed read wrongly. A right one ends with a message and exit status \
         128 or 255, and tar rejects its archive.\n",
        ours.count()
    );
    Ok(unclear)
}

/// The repositories that were named, and the one of `--one-file`, which is made below `scratch`.
fn subjects(args: &Args, scratch: &Path) -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for (number, repository) in args.repository.iter().enumerate() {
        let directory = repository_directory(repository)?;
        subjects.push(Subject {
            name: args
                .name
                .get(number)
                .cloned()
                .unwrap_or_else(|| name(&directory)),
            directory,
            cases: cases(args),
        });
    }
    if let Some(files) = args.one_file {
        let directory = scratch.join(bars::ONE_FILE);
        one_file::make(&directory, files)?;
        subjects.push(Subject {
            name: bars::ONE_FILE.to_owned(),
            directory,
            cases: vec![Case::Base("HEAD~1".to_owned())],
        });
    }
    Ok(subjects)
}

/// The name of the directory, without `.git`.
fn name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".git").unwrap_or(&name).to_owned()
}

fn cases(args: &Args) -> Vec<Case> {
    let formats = args.format.iter().cloned().map(Case::Format);
    let paths = args.path.iter().cloned().map(Case::Path);
    let bases = args.base.iter().cloned().map(Case::Base);
    let cases: Vec<_> = formats.chain(paths).chain(bases).collect();
    if cases.is_empty() {
        return vec![Case::Format("tar".to_owned())];
    }
    cases
}
