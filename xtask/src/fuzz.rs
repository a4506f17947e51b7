//! `cargo xtask fuzz`: each fuzz target for some seconds, from the corpus that is committed.
//!
//! Coverage comes from options of rustc that every compiler takes, stable ones too; the log says which compiler
//! it was. libFuzzer is built with the targets and needs a C++ compiler. Where there is none, the task skips,
//! and says so. What a run finds beyond the corpus goes with its temporary directory; an input that fails is
//! kept, and named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::{binary, process, scratch};

/// Run each fuzz target for a while
///
/// Needs a C++ compiler. Fails if an input crashes a target, breaks what it asserts, or takes too long.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long each target runs, in seconds
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// How many targets run at a time
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// The targets; all if none is named
    targets: Vec<String>,
}

/// What `cargo fuzz` passes for coverage.
const COVERAGE: &str = "--cfg=fuzzing -Cpasses=sancov-module \
     -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// One input may take so many seconds, and so much memory.
const TIMEOUT_S: u32 = 20;
const MEMORY_MB: u32 = 2048;

pub(crate) fn run(args: &Args) -> Result<()> {
    if process::text(Command::new("c++").arg("--version")).is_err() {
        println!("SKIP: c++ is not installed");
        return Ok(());
    }
    let fuzz = binary::root().join("fuzz");
    let names = if args.targets.is_empty() {
        all_targets(&fuzz)?
    } else {
        args.targets.clone()
    };
    let binaries = build(&fuzz)?;
    let queue = Mutex::new(names.into_iter());
    let next = || queue.lock().ok()?.next();
    let work = || -> Result<()> {
        while let Some(name) = next() {
            run_target(&fuzz, &binaries, &name, args.seconds)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..args.at_once).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            let joined = thread.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

fn all_targets(fuzz: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(fuzz.join("fuzz_targets"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        names.push(name.context("a target has an odd name")?.to_owned());
    }
    names.sort();
    Ok(names)
}

/// Builds all targets and returns the directory of their binaries.
fn build(fuzz: &Path) -> Result<PathBuf> {
    let version = process::text(Command::new("rustc").args(["--version", "--verbose"]))?;
    let [compiler, ..] = version.lines().collect::<Vec<_>>()[..] else {
        bail!("rustc names no version");
    };
    println!("coverage by {compiler}, with neither nightly options nor RUSTC_BOOTSTRAP");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc names no host")?;
    // With a target named, build scripts and macros are built without coverage.
    let target = fuzz.join("target");
    let mut cargo = binary::cargo();
    cargo
        .args(["build", "--release", "--target", host])
        .current_dir(fuzz)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", COVERAGE);
    process::run(&mut cargo)?;
    Ok(target.join(host).join("release"))
}

fn run_target(fuzz: &Path, binaries: &Path, name: &str, seconds: u32) -> Result<()> {
    let artifacts = fuzz.join("artifacts").join(name);
    fs::create_dir_all(&artifacts)?;
    let scratch = scratch()?;
    let found = scratch.path().join("found");
    fs::create_dir(&found)?;
    let output = Command::new(binaries.join(name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={TIMEOUT_S}"))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // The first directory takes new inputs.
        .args([&found, &fuzz.join("corpus").join(name)])
        .current_dir(&scratch)
        .env("TMPDIR", scratch.path())
        .output()
        .with_context(|| format!("could not start the target {name}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let artifacts = artifacts.display();
        bail!("the target {name} failed; its input is in {artifacts}\n{log}");
    }
    let done = log.lines().find(|line| line.contains("DONE"));
    println!("{name}: {}", done.unwrap_or("no input was tried"));
    Ok(())
}

/// A directory for what a target writes, in memory where that can be: a target writes files for each input.
fn scratch() -> Result<TempDir> {
    Ok(scratch::directory_in(Path::new("/dev/shm")).or_else(|_| scratch::directory())?)
}
