//! `cargo xtask measure scenario`: what a delta costs, by the size of the repository and by how it is used.
//!
//! Two parts that can be run alone: `growth` holds the time of one delta against bars, `edits` is a
//! measuring programme that has none. Neither makes a repository while it times another.

mod edits;
mod fixture;
mod growth;
mod import;
mod output;
mod packs;
mod report;
mod samples;
mod store;
mod trial;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser as _;

use crate::binary;

/// Time what changed: in repositories of many sizes, and in repositories that many people edit
///
/// Without a subcommand both are run, with their defaults; this takes six to ten minutes on two cores.
/// Tables go to standard output.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    part: Option<Part>,

    /// The folder for CSV files and plots [default: scenario in cargo's target folder]
    #[arg(long, value_name = "DIR", global = true)]
    output: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Part {
    Growth(growth::Args),
    Edits(edits::Args),
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = binary::build()?.path;
    // It lies in target/installed.
    let target = binary.ancestors().nth(2).context("no target folder")?;
    let output = args.output.clone().unwrap_or(target.join("scenario"));
    match &args.part {
        Some(Part::Growth(args)) => growth::run(args, &binary, &output)?,
        Some(Part::Edits(args)) => edits::run(args, &binary, &output)?,
        None => {
            growth::run(&growth::Args::parse_from(["growth"]), &binary, &output)?;
            println!();
            edits::run(&edits::Args::parse_from(["edits"]), &binary, &output)?;
        }
    }
    eprintln!("CSV files and plots are in {}", output.display());
    Ok(())
}
