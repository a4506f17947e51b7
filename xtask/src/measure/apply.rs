//! `cargo xtask measure apply`: an archive into a directory, against tar and against git's own checkout.
//!
//! What each candidate leaves is compared with what tar leaves before anything is timed. The figures are medians over
//! rounds in which the candidates take turns; a directory in memory (`/dev/shm`) leaves the disk out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::median::median;
use crate::{binary, process};

/// Time an archive into a directory, against tar and git checkout-index
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The repository whose HEAD is archived
    #[arg(long)]
    repo: PathBuf,
    /// The directory in which archive and trees are made
    #[arg(long, default_value = "/dev/shm")]
    below: PathBuf,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 11)]
    rounds: usize,
}

/// The candidates, and what each does.
const CANDIDATES: [(&str, &str); 5] = [
    ("tar x", "tar -x -C tree < archive"),
    ("sluice apply", "$SLUICE apply tree < archive"),
    (
        "git archive, tar x",
        "git -C $REPO archive HEAD | tar -x -C tree",
    ),
    (
        "git checkout-index -a, two workers",
        "GIT_INDEX_FILE=$PWD/index git --git-dir=$REPO --work-tree=tree -c core.bare=false -c checkout.workers=2 \
         checkout-index -a",
    ),
    (
        "sluice, sluice apply",
        "(cd $REPO && $SLUICE HEAD) | $SLUICE apply tree",
    ),
];
/// Which candidates are compared, by their numbers.
const COMPARED: [(usize, usize); 3] = [(1, 0), (4, 2), (4, 3)];
/// Not timed against anything else.
const VERIFY: &str = "$SLUICE verify tree";

pub(crate) fn run(args: &Args) -> Result<()> {
    let sluice = binary::build()?;
    let place = Place {
        directory: tempfile::tempdir_in(&args.below)?,
        repository: fs::canonicalize(&args.repo)?,
        sluice: fs::canonicalize(&sluice.path)?,
    };
    place.shell("git -C $REPO archive HEAD > archive && GIT_INDEX_FILE=$PWD/index git -C $REPO read-tree HEAD")?;
    place.check()?;
    let mut seconds = vec![Vec::new(); CANDIDATES.len() + 1];
    for _ in 0..args.rounds {
        for ((_, script), seconds) in CANDIDATES.iter().zip(&mut seconds) {
            place.empty()?;
            seconds.push(place.time(script)?);
        }
        // The tree is that of the last candidate.
        seconds[CANDIDATES.len()].push(place.time(VERIFY)?);
    }
    let medians = Vec::from_iter(seconds.into_iter().map(median));
    println!("| {} | ms |", sluice.version);
    println!("|---|--:|");
    let names = CANDIDATES.iter().map(|(name, _)| *name);
    for (name, seconds) in names.chain(["sluice verify"]).zip(&medians) {
        println!("| {name} | {:.0} |", seconds * 1e3);
    }
    println!("\n| | of | ratio |\n|---|---|--:|");
    for (ours, other) in COMPARED {
        let ratio = medians[ours] / medians[other];
        let [ours, other] = [ours, other].map(|at| CANDIDATES[at].0);
        println!("| {ours} | {other} | {ratio:.2} |");
    }
    Ok(())
}

/// Where the candidates work.
struct Place {
    directory: TempDir,
    repository: PathBuf,
    sluice: PathBuf,
}

impl Place {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn shell(&self, script: &str) -> Result<Vec<u8>> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .current_dir(self.path())
            .env("REPO", &self.repository)
            .env("SLUICE", &self.sluice);
        process::quiet(&mut shell)
    }

    fn empty(&self) -> Result<()> {
        self.shell("rm -rf tree && mkdir tree").map(drop)
    }

    fn time(&self, script: &str) -> Result<f64> {
        let started = Instant::now();
        self.shell(script)?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Compares what our candidates leave with what tar leaves.
    fn check(&self) -> Result<()> {
        self.shell("mkdir expected && tar -x -C expected < archive")?;
        for (name, script) in CANDIDATES
            .iter()
            .filter(|(_, script)| script.contains("SLUICE"))
        {
            self.empty()?;
            self.shell(script)?;
            let compared =
                self.shell("diff -r --no-dereference --exclude='.git-sluice*' expected tree");
            ensure!(compared.is_ok(), "{name}: the trees differ");
        }
        self.shell("rm -rf expected").map(drop)
    }
}
