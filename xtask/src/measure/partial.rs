//! `cargo xtask measure partial`: archives of partial clones that lack all files, against `git archive`.
//!
//! Each run has a fresh clone of a local repository, which is its promisor remote. Every archive is compared with the first
//! one of git. The figures are medians over rounds in which the candidates take turns; fetches and objects are those of the
//! last round.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::corpus::Repository;
use crate::median::median;
use crate::{binary, process, scratch};

/// Time archives of partial clones that lack all files
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of directories
    #[arg(long, default_value_t = 20)]
    directories: u32,
    /// The number of files in each directory
    #[arg(long, default_value_t = 25)]
    files: u32,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Fail if an archive of a tree without attribute files takes more than this part of git's time
    #[arg(long)]
    max: Option<f64>,
    /// Fail if --worktree-attributes takes more than this part of git's time
    #[arg(long)]
    worktree_max: Option<f64>,
}

/// What is archived, and how often by each candidate.
struct Case {
    name: &'static str,
    attributes: bool,
    words: &'static [&'static str],
    /// Whether git looks after each fetch whether there is something to repack.
    maintenance: bool,
    rounds: usize,
    max: Option<f64>,
}

/// One archive of a fresh clone.
struct Run {
    seconds: f64,
    fetches: usize,
    objects: usize,
    archive: Vec<u8>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sluice = binary::build()?;
    let cases = [
        Case {
            name: "all files",
            attributes: false,
            words: &["HEAD"],
            maintenance: true,
            rounds: args.rounds,
            max: args.max,
        },
        Case {
            name: "all files, an attribute file at the root",
            attributes: true,
            words: &["HEAD"],
            maintenance: true,
            rounds: args.rounds,
            max: None,
        },
        Case {
            name: "all files, `--worktree-attributes`",
            attributes: false,
            words: &["--worktree-attributes", "HEAD"],
            // After fifty fetches git repacks in the background, for as long as it likes.
            maintenance: false,
            // git takes seconds for 500 files.
            rounds: 1,
            max: args.worktree_max,
        },
        Case {
            name: "five files by a pathspec",
            attributes: false,
            words: &["HEAD", "d3/f[0-4]"],
            maintenance: true,
            rounds: args.rounds,
            max: None,
        },
        Case {
            name: "five files, an attribute file at the root",
            attributes: true,
            words: &["HEAD", "d3/f[0-4]"],
            maintenance: true,
            rounds: args.rounds,
            max: None,
        },
    ];
    let [plain, attributed] = [false, true].map(|attributes| Origin::make(args, attributes));
    let (plain, attributed) = (plain?, attributed?);
    println!(
        "| {} files | fetches, git / ours | objects, git / ours | git ms | ours ms | of git |",
        args.directories * args.files
    );
    println!("|---|--:|--:|--:|--:|--:|");
    let mut exceeded = Vec::new();
    for case in &cases {
        let origin = if case.attributes { &attributed } else { &plain };
        if !origin.measure(case, &sluice.path)? {
            exceeded.push(case.name);
        }
    }
    ensure!(exceeded.is_empty(), "too slow: {}", exceeded.join(", "));
    Ok(())
}

/// A repository from which partial clones are made.
struct Origin {
    directory: TempDir,
}

impl Origin {
    fn make(args: &Args, attributes: bool) -> Result<Self> {
        let origin = Self {
            directory: scratch::directory()?,
        };
        let (files, path) = (origin.directory.path().join("files"), origin.path());
        fs::create_dir(&files)?;
        if attributes {
            fs::write(files.join(".gitattributes"), "*.txt text\n")?;
        }
        for directory in 0..args.directories {
            let directory = files.join(format!("d{directory}"));
            fs::create_dir(&directory)?;
            for file in 0..args.files {
                let path = directory.join(format!("f{file}"));
                fs::write(&path, format!("{}\n", path.display()))?;
            }
        }
        let repository = Repository::init(&path)?;
        for words in [
            &["add", "."][..],
            &["commit", "--quiet", "--message=files"],
            &["repack", "-adq"],
            &["config", "uploadpack.allowFilter", "true"],
        ] {
            let mut git = repository.git();
            git.current_dir(&files)
                .env("GIT_DIR", &path)
                .env("GIT_WORK_TREE", &files)
                .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
                .args(words);
            process::run(&mut git)?;
        }
        Ok(origin)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    /// Prints the row of `case`. Returns whether the archive is as fast as it has to be.
    fn measure(&self, case: &Case, sluice: &Path) -> Result<bool> {
        let git = |clone: &Path| {
            let mut git = hermetic(Path::new("git"), clone);
            git.arg("archive");
            git
        };
        let (mut gits, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..case.rounds {
            gits.push(self.archive(case, git)?);
            ours.push(self.archive(case, |clone| hermetic(sluice, clone))?);
        }
        let archive = &gits[0].archive;
        let all = || gits.iter().chain(&ours);
        ensure!(
            all().all(|run| run.archive == *archive),
            "the archives differ"
        );
        let ms = |runs: &[Run]| median(runs.iter().map(|run| run.seconds * 1e3));
        let (git_ms, our_ms) = (ms(&gits), ms(&ours));
        let ratio = our_ms / git_ms;
        let (git, our) = (&gits[case.rounds - 1], &ours[case.rounds - 1]);
        println!(
            "| {} | {} / {} | {} / {} | {git_ms:.0} | {our_ms:.0} | {ratio:.3} |",
            case.name, git.fetches, our.fetches, git.objects, our.objects,
        );
        Ok(case.max.is_none_or(|max| ratio <= max))
    }

    /// The archive of a fresh clone that lacks all files, made by the command for the clone.
    fn archive(&self, case: &Case, command: impl Fn(&Path) -> Command) -> Result<Run> {
        let directory = tempfile::tempdir_in(self.directory.path())?;
        let (clone, trace) = (
            directory.path().join("clone"),
            directory.path().join("trace"),
        );
        let mut git = hermetic(Path::new("git"), directory.path());
        git.args(["clone", "--quiet", "--bare", "--filter=blob:none"])
            .arg(format!("file://{}", self.path().display()))
            .arg(&clone);
        process::run(&mut git)?;
        let maintenance = case.maintenance.to_string();
        let mut git = hermetic(Path::new("git"), &clone);
        process::run(git.args(["config", "maintenance.auto", &maintenance]))?;
        let before = missing(&clone)?;
        let mut command = command(&clone);
        let started = Instant::now();
        let archive = process::quiet(command.env("GIT_TRACE", &trace).args(case.words))?;
        let seconds = started.elapsed().as_secs_f64();
        let trace = fs::read_to_string(trace).unwrap_or_default();
        Ok(Run {
            seconds,
            fetches: trace.matches("built-in: git fetch ").count(),
            objects: before - missing(&clone)?,
            archive,
        })
    }
}

/// The number of objects that `clone` lacks.
fn missing(clone: &Path) -> Result<usize> {
    let mut git = hermetic(Path::new("git"), clone);
    let objects = process::text(git.args(["rev-list", "--objects", "--missing=print", "HEAD"]))?;
    Ok(objects.lines().filter(|line| line.starts_with('?')).count())
}

/// `program` in `directory`, out of reach of the user's configuration.
fn hermetic(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(directory);
    command
}
