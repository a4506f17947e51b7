//! The project's own chores, as `cargo xtask <task>`: one file for each subcommand.
//!
//! Nothing here is part of git-sluice, and nothing here may be needed to build or test it.

mod ahead;
mod apply;
mod batch;
mod binary;
mod check_targets;
mod compare;
mod corpus;
mod crowd;
mod dist;
// It moves bytes with `splice`.
#[cfg(target_os = "linux")]
mod fanout;
mod fleet;
mod fuzz;
mod gate;
mod install;
mod layout;
mod lfs;
mod median;
mod partial;
mod plot;
mod process;
mod scenario;
mod scratch;
mod size;
mod submodules;
mod zoekt;

use clap::Parser;

/// Chores of git-sluice: install and release, make a repository to measure on, measure, watch the measure, and fuzz
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Ahead(ahead::Args),
    Apply(apply::Args),
    Batch(batch::Args),
    CheckTargets(check_targets::Args),
    Corpus(corpus::Args),
    Compare(compare::Args),
    Zoekt(zoekt::Args),
    Gate(gate::Args),
    Crowd(crowd::Args),
    Dist(dist::Args),
    #[cfg(target_os = "linux")]
    Fanout(fanout::Args),
    Fleet(fleet::Args),
    Fuzz(fuzz::Args),
    Install(install::Args),
    Lfs(lfs::Args),
    Partial(partial::Args),
    Scenario(scenario::Args),
    Submodules(submodules::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Ahead(args) => ahead::run(&args),
        Task::Apply(args) => apply::run(&args),
        Task::Batch(args) => batch::run(&args),
        Task::CheckTargets(args) => check_targets::run(&args),
        Task::Corpus(args) => corpus::run(&args),
        Task::Compare(args) => compare::run(&args),
        Task::Zoekt(args) => zoekt::run(&args),
        Task::Gate(args) => gate::run(&args),
        Task::Crowd(args) => crowd::run(&args),
        Task::Dist(args) => dist::run(&args),
        #[cfg(target_os = "linux")]
        Task::Fanout(args) => fanout::run(&args),
        Task::Fleet(args) => fleet::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Install(args) => install::run(&args),
        Task::Lfs(args) => lfs::run(&args),
        Task::Partial(args) => partial::run(&args),
        Task::Scenario(args) => scenario::run(&args),
        Task::Submodules(args) => submodules::run(&args),
    }
}
