//! `cargo xtask measure cost`: what a change, and a first try, cost the person who waits.
//!
//! Everything runs in a clone of the last commit, with a target folder of its own, and so compiles all libraries.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::{binary, process, scratch};

/// Time the first archive, the tests, and a change in one file, from a clean clone
///
/// Takes about twenty minutes on two cores; with `--ci` three times as long. Commit first: the clone has nothing else.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Time `.ci/run` as well
    #[arg(long)]
    ci: bool,
}

/// A change in this file recompiles the program, and nothing that it depends on.
const CHANGED: &str = "crates/core/src/plan/walk.rs";

/// A command to time in the clone, and the folder of the target folder in which it compiles.
struct Step {
    words: &'static str,
    target: &'static str,
    what: &'static str,
}

const STEPS: [Step; 4] = [
    Step {
        words: "cargo run --release --locked --bin git-sluice -- HEAD",
        target: "release",
        what: "first archive, clean",
    },
    Step {
        words: "cargo test --locked --no-run",
        target: "test",
        what: "tests compiled, clean",
    },
    Step {
        words: "cargo test --locked",
        target: "test",
        what: "tests run",
    },
    Step {
        words: "cargo test --locked --no-run",
        target: "test",
        what: "tests compiled after a change in one file",
    },
];

const CI: Step = Step {
    words: ".ci/run",
    target: "ci",
    what: "all checks, clean",
};

pub(crate) fn run(args: &Args) -> Result<()> {
    let place = scratch::directory_in(&binary::Workspace::find()?.target)?;
    let clone = place.path().join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"])
        .arg(binary::root())
        .arg(&clone);
    process::run(&mut git)?;
    println!("| what | command | wall s | CPU s |\n|---|---|--:|--:|");
    let last = STEPS.len() - 1;
    for (number, step) in STEPS.iter().enumerate() {
        if number == last {
            change(&clone.join(CHANGED))?;
        }
        step.time(&clone, place.path())?;
    }
    if args.ci {
        CI.time(&clone, place.path())?;
    }
    Ok(())
}

fn change(file: &Path) -> Result<()> {
    let mut file = OpenOptions::new().append(true).open(file)?;
    Ok(writeln!(file, "\n// A change.")?)
}

impl Step {
    /// Runs the step and prints its row. What it says goes to a file, whose name is part of the failure.
    fn time(&self, clone: &Path, place: &Path) -> Result<()> {
        let log: PathBuf = place.with_extension("log");
        let said = std::fs::File::create(&log)?;
        let words = self.words;
        let mut split = words.split(' ');
        let program = split.next().unwrap_or_default();
        let before = cpu_seconds()?;
        let begun = Instant::now();
        let status = Command::new(program)
            .args(split)
            .current_dir(clone)
            .env("CARGO_TARGET_DIR", place.join(self.target))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .status()?;
        let wall = begun.elapsed().as_secs_f64();
        ensure!(status.success(), "'{words}' failed: see {}", log.display());
        let cpu = cpu_seconds()? - before;
        std::fs::remove_file(&log)?;
        println!("| {} | `{words}` | {wall:.0} | {cpu:.0} |", self.what);
        Ok(())
    }
}

/// The time that all processes took which have ended, in the program and in the kernel, in seconds of all cores together.
fn cpu_seconds() -> Result<f64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer leads to room for the structure, and zeros are a value of it.
    let (returned, usage) = unsafe {
        let returned = libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        (returned, usage.assume_init())
    };
    ensure!(returned == 0, std::io::Error::last_os_error());
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(seconds(usage.ru_utime) + seconds(usage.ru_stime))
}
