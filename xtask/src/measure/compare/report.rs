//! The Markdown that `compare` prints: what was compared and how, and the table.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::args::Args;
use super::contender::{Contender, Measured};
use super::hyperfine::Timings;
use super::watched::Watched;
use crate::measure::median::median;
use crate::process;

/// How all tables were measured.
pub(super) fn how(args: &Args, hyperfine: &str) -> String {
    format!(
        "{hyperfine}; medians of {runs} runs by turns, caches {caches}; peak memory, and the least time to the first byte, \
         from separate runs",
        runs = args.runs,
        caches = if args.drop_caches { "cold" } else { "warm" },
    )
}

/// What is archived, above the tables of one repository.
pub(super) fn archived(revision: &str, directory: &Path) -> Result<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory);
    let id = process::text(git.args(["rev-parse", "--short", revision]))?;
    let directory = directory.display();
    Ok(format!("`{revision}` of {directory} is {id}.\n\n"))
}

/// What is above a table: that the archives are equal, of so many `bytes`.
pub(super) fn equality(bytes: u64) -> String {
    format!("The archives of git and git-sluice are equal, {bytes} bytes each.\n\n")
}

/// A table: for each sink one row a contender, the first of which the ratios refer to.
pub(super) fn table(
    contenders: &[Contender],
    timings: &Measured<Timings>,
    watched: &Measured<Watched>,
) -> String {
    let mut table = String::from(
        "| command | sink | wall ms | wall ratio | user ms | system ms | CPU ratio | peak RSS MiB \
         | peak anonymous MiB | first byte ms |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for ((sink, timings), (_, watched)) in timings.iter().zip(watched) {
        let medians: Vec<Medians> = timings.iter().map(Medians::of).collect();
        for ((contender, median), watched) in contenders.iter().zip(&medians).zip(watched) {
            let first_byte = watched.first_byte.map_or(String::new(), |took| {
                format!("{:.1}", took.as_secs_f64() * 1e3)
            });
            writeln!(
                table,
                "| `{}` | {} | {:.1} | {:.2} | {:.1} | {:.1} | {:.2} | {:.1} | {:.1} | {first_byte} |",
                contender.label,
                sink.name(),
                median.wall * 1e3,
                median.wall / medians[0].wall,
                median.user * 1e3,
                median.system * 1e3,
                median.cpu / medians[0].cpu,
                watched.resident as f64 / 1024.0,
                watched.anonymous as f64 / 1024.0,
            )
            .expect("a string takes every write");
        }
    }
    table.push('\n');
    table
}

/// In seconds.
struct Medians {
    wall: f64,
    user: f64,
    system: f64,
    cpu: f64,
}

impl Medians {
    fn of(timings: &Timings) -> Self {
        let cpu = timings
            .user
            .iter()
            .zip(&timings.system)
            .map(|(user, system)| user + system);
        Medians {
            wall: median(timings.wall.iter().copied()),
            user: median(timings.user.iter().copied()),
            system: median(timings.system.iter().copied()),
            cpu: median(cpu),
        }
    }
}
