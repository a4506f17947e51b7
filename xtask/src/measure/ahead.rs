//! `cargo xtask measure ahead`: what is known of an archive before it is made, and parts of the archive, against the whole.
//!
//! Every figure is the median over rounds in which the candidates take turns. Each ratio is that of two medians.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::median::median;
use crate::{binary, process};

/// Time info and --byte-range against the whole archive
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The repository to archive from
    #[arg(long, default_value = ".")]
    repo: PathBuf,
    /// The revision to archive
    #[arg(long, default_value = "HEAD")]
    rev: String,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Fail if info takes more than this part of the whole
    #[arg(long)]
    info_max: Option<f64>,
    /// Fail if the last tenth, or one file out of the middle, takes more than this part of the whole
    #[arg(long)]
    range_max: Option<f64>,
}

/// Bytes of the file whose range is read: about the first as large behind the middle.
const FILE: u64 = 10_000;

/// A run, with the part of the whole that it may take.
struct Candidate {
    name: &'static str,
    word: Option<String>,
    most: Option<f64>,
    seconds: Vec<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sluice = binary::build()?;
    let mut candidates = candidates(&sluice.path, args)?;
    for _ in 0..args.rounds {
        for candidate in &mut candidates {
            let seconds = time(&sluice.path, args, candidate.word.as_deref())?;
            candidate.seconds.push(seconds);
        }
    }
    println!(
        "| run of {} | ms | of the whole |\n|---|--:|--:|",
        sluice.version
    );
    let mut whole = f64::NAN;
    let mut exceeded = Vec::new();
    for Candidate {
        name,
        word,
        most,
        seconds,
    } in candidates
    {
        let seconds = median(seconds);
        if word.is_none() {
            whole = seconds;
        }
        let ratio = seconds / whole;
        println!("| {name} | {:.1} | {ratio:.3} |", seconds * 1e3);
        if most.is_some_and(|most| ratio > most) {
            exceeded.push(name);
        }
    }
    ensure!(exceeded.is_empty(), "too slow: {}", exceeded.join(", "));
    Ok(())
}

/// The whole archive, and what is compared with it.
fn candidates(sluice: &Path, args: &Args) -> Result<Vec<Candidate>> {
    let head = process::text(&mut command(sluice, args, Some("info")))?;
    let head: Value = serde_json::from_str(&head)?;
    let len = head["content_length"]
        .as_u64()
        .context("the length is not known")?;
    let (first, last) = file_behind(sluice, args, len / 2)?;
    let candidate = |name, word, most| Candidate {
        name,
        word,
        most,
        seconds: Vec::new(),
    };
    Ok(vec![
        candidate("whole archive", None, None),
        candidate("info", Some("info".to_owned()), args.info_max),
        candidate(
            "last tenth",
            Some(format!("--byte-range={}-", len - len / 10)),
            args.range_max,
        ),
        candidate(
            "one file in the middle",
            Some(format!("--byte-range={first}-{last}")),
            args.range_max,
        ),
    ])
}

/// The range of the first file at or behind `position` with a content of about [`FILE`] bytes, by the manifest.
fn file_behind(sluice: &Path, args: &Args, position: u64) -> Result<(u64, u64)> {
    let mut told = command(sluice, args, Some("--manifest=fd:2"));
    let output = told.stdout(Stdio::null()).output()?;
    ensure!(output.status.success(), "{told:?} failed");
    let mut best = None;
    for line in output
        .stderr
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line: Value = serde_json::from_slice(line)?;
        if let (Some(first), Some(len)) =
            (line["data_offset"].as_u64(), line["data_length"].as_u64())
            && first >= position
            && len > 0
        {
            let is_closer = |&(_, other): &(u64, u64)| FILE.abs_diff(len) < FILE.abs_diff(other);
            if best.as_ref().is_none_or(is_closer) {
                best = Some((first, len));
            }
            if FILE.abs_diff(len) < FILE / 10 {
                break;
            }
        }
    }
    let (first, len) = best.context("no file behind the middle")?;
    Ok((first, first + len - 1))
}

fn command(sluice: &Path, args: &Args, word: Option<&str>) -> Command {
    let mut command = Command::new(sluice);
    command.args(word).arg(&args.rev).current_dir(&args.repo);
    command
}

/// Seconds of a run into a pipe that is read as fast as it comes.
fn time(sluice: &Path, args: &Args, word: Option<&str>) -> Result<f64> {
    let mut command = command(sluice, args, word);
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().context("the output is a pipe")?;
    let mut buffer = vec![0; 1 << 20];
    while pipe.read(&mut buffer)? > 0 {}
    ensure!(child.wait()?.success(), "{command:?} failed");
    Ok(started.elapsed().as_secs_f64())
}
