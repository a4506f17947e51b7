//! `cargo xtask measure zoekt-index`: what a push costs an index of zoekt that follows a repository.
//!
//! `examples/zoekt-index` takes turns with zoekt-git-index, in whole builds and in deltas. Before anything is reported, the
//! documents of each index with a delta are compared with those of a whole build.

mod pushes;
mod usage;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::zoekt::index::Index;
use crate::{binary, process, scratch};
use pushes::Push;
use usage::Usage;

/// Time how long an index of zoekt takes to follow a push, against zoekt-git-index
///
/// Asks for go, zoekt and zoekt-git-index on PATH, and does nothing if one of them is not there. The variable ZOEKT may name a
/// clone of zoekt, for Go.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repository whose last pushes are indexed
    #[arg(long, value_name = "DIR")]
    repo: PathBuf,

    /// How often each delta is added; the best run counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,

    /// Fail if the smallest push takes more than this part of the CPU time of zoekt-git-index -delta
    #[arg(long)]
    max: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for program in ["go", "zoekt", "zoekt-git-index"] {
        if process::find_program(program).is_none() {
            println!("SKIP: {program} is not on PATH");
            return Ok(());
        }
    }
    let scratch = scratch::directory()?;
    let trial = Trial::prepare(&args.repo, scratch.path(), args.rounds)?;
    println!("CPU seconds / wall seconds / peak MiB\n");
    println!(
        "| changed files | zoekt-git-index | zoekt-index | zoekt-git-index -delta | zoekt-index, delta |"
    );
    println!("|--:|--:|--:|--:|--:|");
    let mut ratios = Vec::new();
    for push in pushes::find(&trial.repository)? {
        let [theirs, ours] =
            [Indexer::Theirs, Indexer::Ours].map(|indexer| trial.measure(indexer, &push));
        let (theirs, ours) = (theirs?, ours?);
        println!(
            "| {} | {} | {} | {} | {} |",
            push.files, theirs.whole, ours.whole, theirs.delta, ours.delta
        );
        ratios.push(ours.delta.cpu / theirs.delta.cpu);
    }
    let ratio = ratios.first().context("the repository has no pushes")?;
    println!("\nThe smallest push takes {ratio:.2} of the CPU time of zoekt-git-index -delta.");
    ensure!(args.max.is_none_or(|max| *ratio <= max), "too slow");
    Ok(())
}

#[derive(Clone, Copy)]
enum Indexer {
    Theirs,
    Ours,
}

/// The costs of a push with one indexer.
struct Costs {
    whole: Usage,
    delta: Usage,
}

struct Trial {
    /// A bare clone that is moved from commit to commit.
    repository: PathBuf,
    /// The program of the example.
    ours: PathBuf,
    /// Where indexes go.
    scratch: PathBuf,
    /// With git-sluice.
    path: std::ffi::OsString,
    rounds: usize,
}

impl Trial {
    fn prepare(source: &Path, scratch: &Path, rounds: usize) -> Result<Self> {
        let repository = scratch.join("repo.git");
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--bare"]);
        process::run(git.arg(source).arg(&repository))?;
        let mut git = Command::new("git");
        git.arg("-C").arg(&repository);
        process::run(git.args(["remote", "remove", "origin"]))?;
        let sluice = binary::build()?.path;
        let directory = sluice.parent().context("the program is in a directory")?;
        Ok(Self {
            repository,
            ours: build_example(scratch)?,
            scratch: scratch.to_owned(),
            path: process::search_path_from(directory)?,
            rounds,
        })
    }

    fn measure(&self, indexer: Indexer, push: &Push) -> Result<Costs> {
        let [base, whole, followed] =
            ["base", "whole", "followed"].map(|name| self.scratch.join(name));
        self.check_out(&push.base)?;
        self.index(indexer, false, &base)?;
        self.check_out(&push.target)?;
        let costs = Costs {
            whole: self.index(indexer, false, &whole)?,
            delta: self.follow(indexer, &base, &followed)?,
        };
        let [followed_index, whole_index] = [&followed, &whole].map(|it| Index::at(it.clone()));
        ensure!(
            followed_index.documents()? == whole_index.documents()?
                && followed_index.reasons()? == whole_index.reasons()?,
            "an index with a delta from {} to {} differs from a whole build",
            push.base,
            push.target
        );
        for index in [base, whole, followed] {
            fs::remove_dir_all(index)?;
        }
        Ok(costs)
    }

    /// The best of several updates of the index `base` in `followed`.
    fn follow(&self, indexer: Indexer, base: &Path, followed: &Path) -> Result<Usage> {
        let mut best = Usage::WORST;
        for _ in 0..self.rounds {
            if followed.exists() {
                fs::remove_dir_all(followed)?;
            }
            link_shards(base, followed)?;
            best = best.min(self.index(indexer, true, followed)?);
        }
        Ok(best)
    }

    fn index(&self, indexer: Indexer, is_delta: bool, index: &Path) -> Result<Usage> {
        let mut command = match indexer {
            Indexer::Theirs => Command::new("zoekt-git-index"),
            Indexer::Ours => Command::new(&self.ours),
        };
        command.env("PATH", &self.path).arg("-index").arg(index);
        command.args(["-disable_ctags", "-submodules=false"]);
        command.arg(format!("-delta={is_delta}"));
        usage::measure(command.arg(&self.repository))
    }

    fn check_out(&self, commit: &str) -> Result<()> {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.repository);
        process::run(git.args(["update-ref", "--no-deref", "HEAD", commit]))
    }
}

/// Builds the program of the example.
fn build_example(scratch: &Path) -> Result<PathBuf> {
    let module = fs::canonicalize(binary::root().join("examples/zoekt-index"))?;
    let program = scratch.join("zoekt-index");
    let mut go = Command::new("go");
    if let Some(zoekt) = env::var_os("ZOEKT") {
        let workspace = scratch.join("go.work");
        let zoekt = PathBuf::from(zoekt);
        fs::write(
            &workspace,
            format!("go 1.25.9\nuse {module:?}\nuse {zoekt:?}\n"),
        )?;
        go.env("GOWORK", workspace);
    }
    process::run(
        go.current_dir(module)
            .args(["build", "-o"])
            .arg(&program)
            .arg("."),
    )?;
    Ok(program)
}

/// Makes `to` an index with the shards of `from`. Programs replace shards, and never write into one.
fn link_shards(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::hard_link(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
