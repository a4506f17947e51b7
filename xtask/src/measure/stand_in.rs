//! `cargo xtask measure stand-in`: what the stand-in for git adds to a command.
//!
//! Each command runs directly and through the stand-in in turn, in a repository with one small file, where the program itself
//! takes little time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::median::median;
use crate::{binary, corpus, process, scratch};

/// Time the stand-in for git
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each program takes its turn
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The git-sluice to measure [default: the release binary, which is built]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Fail if the stand-in adds more milliseconds than this to an archive
    #[arg(long, value_name = "MS")]
    max: Option<f64>,
}

/// What git-sluice does in place of git.
const ARCHIVE: [&str; 2] = ["archive", "HEAD"];
/// What git does itself.
const OTHER: [&str; 2] = ["rev-parse", "HEAD"];

pub(crate) fn run(args: &Args) -> Result<()> {
    let git_sluice = binary::at_or_built(args.binary.as_deref())?;
    let git = process::find_program("git").context("git is not installed")?;
    let place = scratch::directory()?;
    let repository = place.path().join("repository");
    corpus::unpacked(&repository, 1, 1)?;
    let directory = place.path().join("bin");
    process::quiet(
        Command::new(&git_sluice)
            .arg("stand-in")
            .arg(&directory)
            .env("REAL_GIT", &git),
    )?;
    let stand_in = directory.join("git");
    let paths = process::search_path_from(&directory)?;
    println!("| command | directly, ms | through the stand-in, ms | added, ms |");
    println!("|---|--:|--:|--:|");
    let added = |direct, words| {
        let programs = [direct, &stand_in];
        let [direct, through] = milliseconds(programs, words, &repository, &paths, args.rounds)?;
        let (words, added) = (words.join(" "), through - direct);
        println!("| `git {words}` | {direct:.2} | {through:.2} | {added:.2} |");
        anyhow::Ok(added)
    };
    let for_archive = added(&git_sluice, ARCHIVE)?;
    added(&git, OTHER)?;
    ensure!(
        args.max.is_none_or(|max| for_archive <= max),
        "the stand-in adds {for_archive:.2} ms to an archive"
    );
    Ok(())
}

/// The median times of both `programs`, which take turns.
fn milliseconds(
    programs: [&PathBuf; 2],
    words: [&str; 2],
    repository: &Path,
    paths: &OsStr,
    rounds: u32,
) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (program, times) in programs.iter().zip(&mut times) {
            let mut command = Command::new(program);
            command
                .args(words)
                .current_dir(repository)
                .env("PATH", paths)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let started = Instant::now();
            let status = command.status()?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            ensure!(status.success(), "{command:?} failed: {status}");
        }
    }
    Ok(times.map(median))
}
