//! `cargo xtask scenario`: whether what changed costs by what changed, and not by what there is.
//!
//! Repositories from small to large, each with a commit that changes one file, and for the largest one
//! that changes one file in a hundred. Each command is timed in turn, round by round, so that a slow
//! minute of the machine falls on all; what counts is the median. With valgrind, instructions are
//! counted as well, which no other process disturbs.

mod fixture;
mod plot;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::{binary, gate, process};
use fixture::Fixture;

/// Time what changed in one commit, for repositories of many sizes
///
/// Writes a table to standard output, and a table and a plot to the folder that --output names.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many files the repositories have
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 3000, 10_000, 30_000, 100_000])]
    files: Vec<u32>,
    /// Runs of each command
    #[arg(long, default_value_t = 11)]
    rounds: u32,
    /// The folder for scenario.csv and scenario.svg
    #[arg(long)]
    output: Option<PathBuf>,
}

/// Medians in milliseconds, and instructions of the delta.
struct Row {
    files: u32,
    delta: f64,
    diff_tree: f64,
    full: f64,
    instructions: Option<u64>,
}

/// What is allowed: growth from the smallest repository to the largest, and what it may take at most
/// beside git's own comparison; and for one file in a hundred, beside the full archive.
const GROWTH: f64 = 1.2;
const OF_DIFF_TREE: f64 = 1.5;
const OF_FULL: f64 = 0.05;

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = binary::build()?.path;
    let counts = process::text(Command::new("valgrind").arg("--version")).is_ok();
    let mut rows = Vec::new();
    let mut last = None;
    for &files in &args.files {
        eprintln!("making a repository of {files} files");
        let fixture = Fixture::make(files)?;
        rows.push(measure(&binary, &fixture, files, args.rounds, counts)?);
        last = Some(fixture);
    }
    print!("{}", table(&rows));
    if let Some(fixture) = last {
        print!("{}", part(&binary, &fixture, args.rounds)?);
    }
    if let Some(directory) = &args.output {
        write(directory, "scenario.csv", &csv(&rows))?;
        write(directory, "scenario.svg", &plot::svg(&rows))?;
    }
    Ok(())
}

fn measure(binary: &Path, fixture: &Fixture, files: u32, rounds: u32, counts: bool) -> Result<Row> {
    let arguments = ["--base=main~1", "main"];
    let ours = |arguments: &[&str]| {
        let mut command = fixture.command(binary);
        command.args(arguments);
        command
    };
    let mut diff_tree = fixture.command(Path::new("git"));
    diff_tree.args(["diff-tree", "-r", "main~1", "main"]);
    let commands = &mut [ours(&arguments), diff_tree, ours(&["main"])];
    let times = medians(commands, rounds)?;
    let instructions = counts.then(|| gate::count(binary, &arguments, fixture.path()));
    Ok(Row {
        files,
        delta: times[0],
        diff_tree: times[1],
        full: times[2],
        instructions: instructions.transpose()?,
    })
}

/// The median of each command, in milliseconds.
fn medians(commands: &mut [Command], rounds: u32) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); commands.len()];
    // The first round warms the caches.
    for round in 0..=rounds {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            command.stdout(Stdio::null());
            let start = Instant::now();
            process::run(command)?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(times.into_iter().map(median).collect())
}

fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| files | delta | git diff-tree -r | full archive | delta / diff-tree | instructions of delta |\n\
         |--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let instructions = row
            .instructions
            .map_or("-".to_owned(), |count| count.to_string());
        table += &format!(
            "| {} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} | {instructions} |\n",
            row.files,
            row.delta,
            row.diff_tree,
            row.full,
            row.delta / row.diff_tree
        );
    }
    if let [first, .., last] = rows {
        let growth = last.delta / first.delta;
        let of_diff_tree = last.delta / last.diff_tree;
        table += &format!(
            "\nFrom {} to {} files: {growth:.2} of the time (at most {GROWTH}), and {of_diff_tree:.2} of \
             git diff-tree (at most {OF_DIFF_TREE}).\n",
            first.files, last.files
        );
    }
    table
}

/// One file in a hundred changed: here and there, or all in some directories.
fn part(binary: &Path, fixture: &Fixture, rounds: u32) -> Result<String> {
    let ours = |arguments: &[&str]| {
        let mut command = fixture.command(binary);
        command.args(arguments);
        command
    };
    let delta = |branch| ours(&["--base=main~1", branch]);
    let mut git = fixture.command(Path::new("git"));
    git.args(["archive", "part"]);
    let times = medians(
        &mut [delta("part"), delta("cluster"), ours(&["part"]), git],
        rounds,
    )?;
    let (full, git) = (times[2], times[3]);
    let mut table = String::from(
        "\n| 1 % of the files changed | delta | full archive | git archive | delta / full | delta / git archive |\n\
         |---|--:|--:|--:|--:|--:|\n",
    );
    for (name, time) in [
        ("here and there", times[0]),
        ("in some directories", times[1]),
    ] {
        table += &format!(
            "| {name} | {time:.2} ms | {full:.2} ms | {git:.2} ms | {:.3} (at most {OF_FULL}) | {:.3} |\n",
            time / full,
            time / git
        );
    }
    Ok(table)
}

fn csv(rows: &[Row]) -> String {
    let mut csv = String::from("files,delta_ms,diff_tree_ms,full_ms,delta_instructions\n");
    for row in rows {
        let instructions = row
            .instructions
            .map_or(String::new(), |count| count.to_string());
        csv += &format!(
            "{},{:.3},{:.3},{:.3},{instructions}\n",
            row.files, row.delta, row.diff_tree, row.full
        );
    }
    csv
}

fn write(directory: &Path, name: &str, text: &str) -> Result<()> {
    let file = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&file, text))
        .with_context(|| format!("could not write '{}'", file.display()))
}
