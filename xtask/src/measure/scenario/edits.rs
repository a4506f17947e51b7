//! The measuring programme of a published study of git under a store that many people edit, for our
//! job.
//!
//! A repository grows by one file a commit, or one file is modified again and again. After each commit
//! the delta to the one before is archived, and only this is timed, from the start of the program to its
//! end. What is varied is how many threads edit how many repositories, the number of branches and
//! the number of files; not all with all, but each alone around one point. The number of commits
//! varies by itself.
//!
//! The threads are the people. Each takes the next repository in turn, commits to its next branch, and
//! archives; so what is timed competes for the machine with the commits and archives of the others.
//! More threads than repositories share them: one commits at a time, but one may archive while
//! another commits, and on the same branch the delta is then that of its newest commit.
//!
//! All repositories are made before anything is timed, and all settings are run by turns of some
//! commits, so that a slow minute of the machine falls on all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use anyhow::Result;

use super::output::write;
use super::report;
use super::store::{Job, Store, Template};
use super::trial::{Setting, Trial};
use crate::scratch;

/// Time the delta of each commit to repositories that many people edit
///
/// Of --branches and --files, the first value is where all others are measured, and the other
/// values are tried with the first of everything else; each of --threads is tried over each of
/// --repositories. Writes edits.csv, with a line for each delta, and edits-over-*.svg.
#[derive(clap::Parser)]
pub(super) struct Args {
    /// What a commit does
    #[arg(
        long,
        value_name = "JOB,…",
        value_delimiter = ',',
        default_value = "add,modify"
    )]
    jobs: Vec<Job>,

    /// How many threads commit and archive
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,5,20", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Vec<u32>,

    /// Over how many repositories they do
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10,20", value_parser = clap::value_parser!(u32).range(1..))]
    repositories: Vec<u32>,

    /// How many branches a repository has; commits go to one after the other
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10,1,100", value_parser = clap::value_parser!(u32).range(1..))]
    branches: Vec<u32>,

    /// How many files it has before the first commit
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1000,100,10000,40000", value_parser = clap::value_parser!(u32).range(1..))]
    files: Vec<u32>,

    /// Commits to each repository; the first is a warm-up
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..))]
    commits: u32,
}

/// Commits to each repository before it is another setting's turn.
const TURN: u32 = 10;

pub(super) fn run(args: &Args, binary: &Path, output: &Path) -> Result<()> {
    let trials = measure(args, binary)?;
    print!("{}", report::tables(&trials));
    write(output, "edits.csv", &report::csv(&trials))?;
    for (over, plot) in report::plots(&trials) {
        write(output, &format!("edits-over-{over}.svg"), &plot.svg())?;
    }
    Ok(())
}

/// The base point of each job is the first of it.
fn settings(args: &Args) -> Vec<Setting> {
    let mut settings = Vec::new();
    for &job in &args.jobs {
        let base = Setting {
            job,
            threads: args.threads[0],
            repositories: args.repositories[0],
            branches: args.branches[0],
            files: args.files[0],
        };
        for &repositories in &args.repositories {
            settings.extend(args.threads.iter().map(|&threads| Setting {
                threads,
                repositories,
                ..base
            }));
        }
        // The first is the base, which is there.
        let branches = args.branches[1..].iter();
        settings.extend(branches.map(|&branches| Setting { branches, ..base }));
        let files = args.files[1..].iter();
        settings.extend(files.map(|&files| Setting { files, ..base }));
    }
    settings
}

pub(super) fn measure(args: &Args, program: &Path) -> Result<Vec<Trial>> {
    // Goes when all is measured.
    let directory = scratch::directory()?;
    let mut trials = prepare(&settings(args), directory.path())?;
    let mut done = 0;
    while done < args.commits {
        let commits = TURN.min(args.commits - done);
        done += commits;
        for trial in &mut trials {
            trial.take_turn(commits, program)?;
        }
        eprintln!("{done} of {} commits to each repository", args.commits);
    }
    Ok(trials)
}

/// Makes all repositories in `directory`.
fn prepare(settings: &[Setting], directory: &Path) -> Result<Vec<Trial>> {
    let mut templates = HashMap::new();
    let mut trials = Vec::new();
    for (number, &setting) in settings.iter().enumerate() {
        let template = match templates.entry((setting.files, setting.branches)) {
            Entry::Occupied(template) => template.into_mut(),
            Entry::Vacant(none) => {
                let (files, branches) = *none.key();
                eprintln!("making a repository of {files} files with branches: {branches}");
                none.insert(Template::make(files, branches)?)
            }
        };
        let stores = (0..setting.repositories).map(|repository| {
            let path = directory.join(format!("{number}-{repository}.git"));
            Store::copy(template, path)
        });
        trials.push(Trial {
            setting,
            stores: stores.collect::<Result<_>>()?,
            samples: Vec::new(),
        });
    }
    Ok(trials)
}
