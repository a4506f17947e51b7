//! `cargo xtask measure crowd`: archives on a machine that has other work.
//!
//! Three questions: how long many runs at once take by default and with one thread each, how long one run
//! takes beside busy processes, and how long it takes alone. Every figure is a median over rounds in which the
//! candidates take turns, and each ratio is the median of the ratios of one round.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::binary;
use crate::median::median;

/// Time archives on a machine that has other work
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The repository to archive from
    #[arg(long, default_value = ".")]
    repo: PathBuf,
    /// A revision to archive; several are measured one after the other
    #[arg(long = "rev", default_value = "HEAD")]
    revisions: Vec<String>,
    /// How many runs at once
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// How many busy processes beside a single run
    #[arg(long, default_value_t = 2)]
    busy: usize,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// The format of the archives
    #[arg(long, default_value = "tar")]
    format: String,
}

/// How long a new process is given to get going.
const SETTLE: Duration = Duration::from_millis(300);

/// A command line that makes one archive.
struct Candidate {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
}

impl Candidate {
    fn all(sluice: &Path, args: &Args, revision: &str) -> Vec<Self> {
        let format = format!("--format={}", args.format);
        let candidate = |name, program: &Path, option: &[&str]| Self {
            name,
            program: program.into(),
            words: [option, &[&format, revision]]
                .concat()
                .iter()
                .map(|word| (*word).into())
                .collect(),
        };
        vec![
            candidate("default", sluice, &[]),
            candidate("-j1", sluice, &["-j1"]),
            candidate("-j2", sluice, &["-j2"]),
            candidate("git archive", Path::new("git"), &["archive"]),
        ]
    }

    fn start(&self, repository: &Path) -> Result<Child> {
        Command::new(&self.program)
            .args(&self.words)
            .current_dir(repository)
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("could not start {}", self.program.display()))
    }

    /// The seconds until so many runs that start at once have all ended.
    fn time(&self, repository: &Path, runs: usize) -> Result<f64> {
        let started = Instant::now();
        let children: Vec<Child> = (0..runs)
            .map(|_| self.start(repository))
            .collect::<Result<_>>()?;
        for mut child in children {
            ensure!(child.wait()?.success(), "{} failed", self.name);
        }
        Ok(started.elapsed().as_secs_f64())
    }
}

/// Processes that keep a processor busy each, until they are dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start(count: usize) -> Result<Self> {
        let mut busy = Self(Vec::new());
        for _ in 0..count {
            let spinning = Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn();
            busy.0.push(spinning.context("could not start sh")?);
        }
        thread::sleep(SETTLE);
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // A process that is gone needs no end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sluice = binary::build()?.path;
    for revision in &args.revisions {
        let candidates = Candidate::all(&sluice, args, revision);
        println!("{revision}, alone");
        report(&measure(&candidates, args, 1)?, &candidates);
        println!("{revision}, beside {} busy processes", args.busy);
        let busy = Busy::start(args.busy)?;
        report(&measure(&candidates, args, 1)?, &candidates);
        drop(busy);
        println!("{revision}, {} runs at once", args.runs);
        report(&measure(&candidates, args, args.runs)?, &candidates);
    }
    Ok(())
}

/// The seconds of every candidate, round by round; the first round warms up and is not counted. Whoever runs
/// first in a round begins in the middle of a busy process's time slice more often, so the order rotates.
/// The memory that twenty `git archive` give back costs the next candidate a third of its time, so every
/// turn begins with a run that is not counted.
fn measure(candidates: &[Candidate], args: &Args, runs: usize) -> Result<Vec<Vec<f64>>> {
    let mut rounds = Vec::new();
    for round in 0..=args.rounds {
        let mut seconds = vec![0.0; candidates.len()];
        for turn in 0..candidates.len() {
            let at = (round + turn) % candidates.len();
            candidates[at].time(&args.repo, runs)?;
            seconds[at] = candidates[at].time(&args.repo, runs)?;
        }
        rounds.push(seconds);
    }
    Ok(rounds.split_off(1))
}

/// Prints each candidate's median, and the median of the ratios of the default to it.
fn report(rounds: &[Vec<f64>], candidates: &[Candidate]) {
    for (at, candidate) in candidates.iter().enumerate() {
        let seconds = median(rounds.iter().map(|round| round[at]));
        let ratio = median(rounds.iter().map(|round| round[0] / round[at]));
        println!(
            "  {:<12} {:>9.2} ms   default / this: {ratio:.3}",
            candidate.name,
            seconds * 1e3
        );
    }
}
