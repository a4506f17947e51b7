//! Measurements, as `cargo xtask measure <name>`: one file for each.

// It mounts a FUSE file system.
#[cfg(target_os = "linux")]
mod cold;
mod compare;
mod cost;
mod figures;
mod header;
mod median;

use clap::Subcommand;

/// A measurement.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Subcommand)]
enum Measurement {
    #[cfg(target_os = "linux")]
    Cold(cold::Args),
    Compare(compare::Args),
    Cost(cost::Args),
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.measurement {
        #[cfg(target_os = "linux")]
        Measurement::Cold(args) => cold::run(args),
        Measurement::Compare(args) => compare::run(args),
        Measurement::Cost(args) => cost::run(args),
    }
}
