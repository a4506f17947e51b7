//! The project's own chores, as `cargo xtask <task>`: one file for each subcommand.
//!
//! Nothing here is part of git-sluice, and nothing here may be needed to build or test it.

mod binary;
mod book;
mod check_targets;
mod corpus;
mod dist;
mod fuzz;
mod gate;
mod install;
mod layout;
mod measure;
mod process;
mod scratch;

use clap::Parser;

/// Chores of git-sluice: install and release, make a repository to measure on, measure, watch the measure, and fuzz
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Book(book::Args),
    CheckTargets(check_targets::Args),
    Corpus(corpus::Args),
    Gate(gate::Args),
    Dist(dist::Args),
    Fuzz(fuzz::Args),
    Install(install::Args),
    Measure(measure::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Book(args) => book::run(&args),
        Task::CheckTargets(args) => check_targets::run(&args),
        Task::Corpus(args) => corpus::run(&args),
        Task::Gate(args) => gate::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Install(args) => install::run(&args),
        Task::Measure(args) => measure::run(&args),
    }
}
