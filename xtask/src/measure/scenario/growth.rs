//! Whether what changed costs by what changed, and not by what there is.
//!
//! Repositories from small to large, each with a commit that changes one file, and for the largest one
//! that changes one file in a hundred; and the files of the largest once more, in one pack and in several.
//! All are made before anything is timed; then each command of each repository is timed in turn, round by
//! round, so that a slow minute of the machine falls on all. Full archives have rounds of their own, since
//! they leave the next command other caches than it would find. What counts is the median. With valgrind,
//! instructions are counted as well, which no other process disturbs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::fixture::{DELTA, Fixture};
use super::output::write;
use super::packs::Packs;
use super::samples::{SHORT, medians};
use crate::plot::{Line, Plot, Scale};
use crate::{gate, process};

/// Time what changed in one commit, for repositories of many sizes
///
/// Writes growth.csv and growth.svg.
#[derive(clap::Parser)]
pub(super) struct Args {
    /// How many files the repositories have
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1000, 3000, 10_000, 30_000, 100_000])]
    files: Vec<u32>,

    /// Runs of each command; of those that take milliseconds, ten times as many
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
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

pub(super) fn run(args: &Args, binary: &Path, output: &Path) -> Result<()> {
    let mut fixtures = Vec::new();
    for &files in &args.files {
        eprintln!("making a repository of {files} files");
        fixtures.push(Fixture::make(files)?);
    }
    let largest = fixtures.last().context("no number of files")?;
    eprintln!("making repositories of one pack and of several");
    let packs = Packs::make(largest.files)?;
    let rows = measure(binary, &fixtures, args.rounds)?;
    print!("{}", table(&rows));
    print!("{}", part(binary, largest, args.rounds)?);
    print!("{}", packs.measure(binary, args.rounds)?);
    write(output, "growth.csv", &csv(&rows))?;
    write(output, "growth.svg", &plot(&rows))
}

fn measure(binary: &Path, fixtures: &[Fixture], rounds: u32) -> Result<Vec<Row>> {
    // By turns, so that each delta comes after the same program.
    let deltas = fixtures.iter().flat_map(|fixture| {
        [
            fixture.command(binary, &DELTA),
            fixture.command(Path::new("git"), &["diff-tree", "-r", "main~1", "main"]),
        ]
    });
    let deltas = medians(&mut deltas.collect::<Vec<_>>(), SHORT * rounds)?;
    let fulls = fixtures
        .iter()
        .map(|fixture| fixture.command(binary, &["main"]));
    let fulls = medians(&mut fulls.collect::<Vec<_>>(), rounds)?;
    let counts = process::text(Command::new("valgrind").arg("--version")).is_ok();
    let row = |(number, fixture): (usize, &Fixture)| {
        let instructions = counts.then(|| gate::count(binary, &DELTA, fixture.path()));
        Ok(Row {
            files: fixture.files,
            delta: deltas[2 * number],
            diff_tree: deltas[2 * number + 1],
            full: fulls[number],
            instructions: instructions.transpose()?,
        })
    };
    fixtures.iter().enumerate().map(row).collect()
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
    let ours = |arguments: &[&str]| fixture.command(binary, arguments);
    let commands = &mut [
        ours(&["--base=main~1", "part"]),
        ours(&["--base=main~1", "cluster"]),
        ours(&["part"]),
        fixture.command(Path::new("git"), &["archive", "part"]),
    ];
    let times = medians(commands, rounds)?;
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

fn plot(rows: &[Row]) -> String {
    type Value = fn(&Row) -> f64;
    let lines: [(&str, &str, Value); 3] = [
        ("full archive", "#888888", |row| row.full),
        ("git diff-tree -r", "#d1742f", |row| row.diff_tree),
        ("git sluice --base", "#2f6fd1", |row| row.delta),
    ];
    let line = |(name, colour, time): (&str, _, Value)| Line {
        name: name.to_owned(),
        colour,
        dashes: "",
        points: rows
            .iter()
            .map(|row| (f64::from(row.files), time(row)))
            .collect(),
    };
    let plot = Plot {
        across: "files in the repository",
        scale: Scale::Logarithmic,
        lines: lines.into_iter().map(line).collect(),
    };
    plot.svg()
}
