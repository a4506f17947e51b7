//! `cargo xtask measure next-commit`: what an archive costs if the cache has the archive of an earlier commit.
//!
//! The cache is copied before each run, so that each finds the earlier archive alone. No figure is printed before the bytes of all
//! contenders are those of `git archive`.

mod pairs;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::measure::header::header;
use crate::median::median;
use crate::{binary, process, scratch};

/// Time archives of a commit, with the archive of an earlier one in the cache
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repository to archive from
    #[arg(long, value_name = "R", default_value = ".")]
    repo: PathBuf,
    /// How many first parents lie between the two commits
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,10,30,100"
    )]
    steps: Vec<u32>,
    /// How often each contender takes its turn
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The git-sluice to measure [default: the release binary, which is built]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Another git-sluice, whose first archive in an empty cache is compared as well
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// Measure nothing, but archive each of the newest N first parents from the archive of each other, and compare the bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pairs: Option<u32>,
    /// Fail if a zip is not three times as fast after one step, or a tar not 1.4 times
    #[arg(long)]
    check: bool,
}

/// How much faster the next archive has to be.
const FORMATS: [(&str, f64); 2] = [("zip", 3.0), ("tar", 1.4)];

pub(crate) fn run(args: &Args) -> Result<()> {
    let git_sluice = binary::at_or_built(args.binary.as_deref())?;
    let repository = args.repo.canonicalize()?;
    if let Some(count) = args.pairs {
        let formats = FORMATS.map(|(format, _)| format);
        return pairs::run(&git_sluice, &repository, count, &formats);
    }
    print!("{}", header(&git_sluice, args.rounds)?);
    println!(
        "| format | steps | git, ms | git-sluice, ms | with the earlier archive, ms | of git | times as fast |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (format, least) in FORMATS {
        for &steps in &args.steps {
            let trial = Trial {
                git_sluice: &git_sluice,
                repository: &repository,
                format,
                rounds: args.rounds,
            };
            let gain = trial.row(steps)?;
            ensure!(
                !args.check || steps != 1 || gain >= least,
                "a {format} is {gain:.2} times as fast, not {least}"
            );
        }
        if let Some(before) = &args.before {
            let ratio = empty_cache(before, &git_sluice, &repository, format, args.rounds)?;
            println!(
                "\nThe first {format} in an empty cache takes {ratio:.3} of the time before.\n"
            );
        }
    }
    Ok(())
}

struct Trial<'a> {
    git_sluice: &'a Path,
    repository: &'a Path,
    format: &'a str,
    rounds: u32,
}

impl Trial<'_> {
    /// Prints a row of the table. Returns how many times as fast the archive is made from that of `steps` before.
    fn row(&self, steps: u32) -> Result<f64> {
        let place = scratch::directory()?;
        let (kept, cache) = (place.path().join("kept"), place.path().join("cache"));
        let format = format!("--format={}", self.format);
        let base = format!("HEAD~{steps}");
        let shared = |cache: &Path| format!("--cache={}", cache.display());
        let sluice = |words: &[&str]| {
            let mut command = Command::new(self.git_sluice);
            command
                .args(words)
                .arg(&format)
                .current_dir(self.repository);
            command
        };
        process::quiet(&mut sluice(&[&shared(&kept), "--cache-always", &base]))?;
        let mut git = Command::new("git");
        git.args(["archive", &format, "HEAD"])
            .current_dir(self.repository);
        let with_cache = shared(&cache);
        let mut contenders = [
            git,
            sluice(&["HEAD"]),
            sluice(&[&with_cache, "--cache-always", "HEAD"]),
        ];
        let mut times = [const { Vec::new() }; 3];
        let outputs = [0, 1, 2].map(|number| place.path().join(number.to_string()));
        for round in 0..=self.rounds {
            for (number, command) in contenders.iter_mut().enumerate() {
                scratch::copy(&kept, &cache)?;
                let output = (round == 0).then_some(&*outputs[number]);
                let time = timed(command, output)?;
                if round > 0 {
                    times[number].push(time);
                }
            }
            if round == 0 {
                let archives = outputs.each_ref().map(fs::read);
                let [git, plain, copied] = archives;
                let git = git?;
                ensure!(
                    git == plain? && git == copied?,
                    "an archive differs from git's"
                );
            }
        }
        let [git, plain, copied] = times.map(median);
        let gain = plain / copied;
        println!(
            "| {} | {steps} | {git:.0} | {plain:.0} | {copied:.0} | {:.3} | {gain:.1} |",
            self.format,
            copied / git
        );
        Ok(gain)
    }
}

/// The time of a first archive, next to that of the program `before`.
fn empty_cache(
    before: &Path,
    now: &Path,
    repository: &Path,
    format: &str,
    rounds: u32,
) -> Result<f64> {
    let place = scratch::directory()?;
    let cache = place.path().join("cache");
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let mut pair = [0.0; 2];
        for (program, time) in [before, now].iter().zip(&mut pair) {
            let _ = fs::remove_dir_all(&cache);
            let mut command = Command::new(program);
            command
                .arg(format!("--cache={}", cache.display()))
                .args(["--cache-always", &format!("--format={format}"), "HEAD"])
                .current_dir(repository);
            *time = timed(&mut command, None)?;
        }
        ratios.push(pair[1] / pair[0]);
    }
    Ok(median(ratios))
}

/// The milliseconds of `command`, whose archive goes to the file `output`, or nowhere.
fn timed(command: &mut Command, output: Option<&Path>) -> Result<f64> {
    let output = match output {
        Some(path) => Stdio::from(File::create(path)?),
        None => Stdio::null(),
    };
    command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
