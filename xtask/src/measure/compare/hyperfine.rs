//! Timing with hyperfine, one timed run of each command in a round.
//!
//! Rounds rather than hyperfine's own repetition, so that a slow minute of the machine falls on all
//! commands; and because hyperfine exports user and system time only as means over its runs.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::args::Args;
use super::contender::{Contender, Measured, Sink};
use crate::{process, scratch};

/// Times of one command into one sink, in seconds, one for each round.
#[derive(Default, Clone)]
pub(super) struct Timings {
    pub(super) wall: Vec<f64>,
    pub(super) user: Vec<f64>,
    pub(super) system: Vec<f64>,
}

/// Fails with advice if hyperfine cannot be started.
pub(super) fn version() -> Result<String> {
    let help =
        "hyperfine is needed: `cargo install hyperfine --locked` or `apt-get install hyperfine`";
    process::text(Command::new("hyperfine").arg("--version")).context(help)
}

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Fails with advice if this user may not empty the kernel's caches.
pub(super) fn check_drop_caches() -> Result<()> {
    OpenOptions::new()
        .write(true)
        .open(DROP_CACHES)
        .with_context(|| format!("--drop-caches needs to write to {DROP_CACHES}; run as root"))?;
    Ok(())
}

/// Times each contender `rounds` times into each sink.
pub(super) fn measure(
    contenders: &[Contender],
    directory: &Path,
    args: &Args,
) -> Result<Measured<Timings>> {
    let Args {
        runs: rounds,
        drop_caches,
        ..
    } = *args;
    let mut measured = Vec::new();
    for &sink in &args.to {
        let files = scratch::directory()?;
        let mut timings = vec![Timings::default(); contenders.len()];
        for round in 0..rounds {
            eprintln!(
                "timing into {}: round {} of {rounds}",
                sink.name(),
                round + 1
            );
            // The first round warms the caches for all.
            let warmup = u32::from(round == 0 && !drop_caches);
            let mut order: Vec<usize> = (0..contenders.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            let commands = order.iter().map(|&index| {
                let contender = &contenders[index];
                line(&contender.writing_to(sink, index, files.path()))
            });
            let mut hyperfine = hyperfine(sink, warmup, drop_caches);
            let export = process::text(hyperfine.args(commands).current_dir(directory))?;
            add_round(&export, &order, &mut timings)?;
        }
        measured.push((sink, timings));
    }
    Ok(measured)
}

/// hyperfine for one round, up to the commands; it writes its JSON to standard output.
fn hyperfine(sink: Sink, warmup: u32, drop_caches: bool) -> Command {
    let mut hyperfine = Command::new("hyperfine");
    hyperfine.args([
        "-N",
        "--style=none",
        "--runs=1",
        "--export-json=/dev/stdout",
    ]);
    hyperfine
        .arg(format!("--warmup={warmup}"))
        .arg(format!("--output={}", sink.of_output()));
    if drop_caches {
        let script = format!("sync; echo 3 > {DROP_CACHES}");
        hyperfine
            .arg("--prepare")
            .arg(process::quote(["sh", "-c", &script]));
    }
    hyperfine.stdin(Stdio::null());
    hyperfine
}

/// The command line that hyperfine takes apart again.
fn line(contender: &Contender) -> String {
    let program = contender.program.to_string_lossy();
    let arguments = contender.arguments.iter().map(String::as_str);
    process::quote([program.as_ref()].into_iter().chain(arguments))
}

/// Adds the results in `export`, which are in the order of the commands. hyperfine exports what it
/// has after each command; the last document has all.
fn add_round(export: &str, order: &[usize], timings: &mut [Timings]) -> Result<()> {
    let documents = serde_json::Deserializer::from_str(export).into_iter::<Value>();
    let export = documents.last().context("hyperfine wrote no JSON")??;
    let results = export["results"]
        .as_array()
        .context("hyperfine wrote no results")?;
    ensure!(
        results.len() == order.len(),
        "hyperfine wrote {} results",
        results.len()
    );
    for (result, &index) in results.iter().zip(order) {
        let seconds = |key: &str| {
            result[key]
                .as_f64()
                .with_context(|| format!("no {key} time"))
        };
        timings[index].wall.push(seconds("mean")?);
        timings[index].user.push(seconds("user")?);
        timings[index].system.push(seconds("system")?);
    }
    Ok(())
}
