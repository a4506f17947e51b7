//! `cargo xtask measure lfs`: files of Git LFS with their content, against `git archive` with git-lfs as its filter.
//!
//! Both archives are compared before anything is timed. The figures are medians over rounds in which the candidates take
//! turns.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::corpus::{Random, Repository};
use crate::median::median;
use crate::{binary, process, scratch, size};

/// Time files of Git LFS against git archive with git-lfs
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of files
    #[arg(long, default_value_t = 200)]
    files: u64,
    /// The size of each file
    #[arg(long, default_value = "1m", value_parser = size::parse)]
    bytes: u64,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Fail if the archive takes more than this part of git's time
    #[arg(long)]
    max: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let installed = Command::new("git").args(["lfs", "version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        println!("SKIP: git-lfs is not installed");
        return Ok(());
    }
    let sluice = binary::build()?;
    let fixture = Fixture::make(args)?;
    let ours = || fixture.hermetic(&sluice.path, &["--lfs=content", "main"]);
    let gits = || fixture.hermetic(Path::new("git"), &GIT);
    ensure!(
        process::quiet(&mut ours())? == process::quiet(&mut gits())?,
        "the archives differ"
    );
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..args.rounds {
        seconds[0].push(time(gits())?);
        seconds[1].push(time(ours())?);
    }
    let [git, sluiced] = seconds.map(median);
    let ratio = sluiced / git;
    println!(
        "| {} files of {} bytes | ms | of git |",
        args.files, args.bytes
    );
    println!("|---|--:|--:|");
    println!("| git archive with git-lfs | {:.1} | 1 |", git * 1e3);
    println!(
        "| {} --lfs=content | {:.1} | {ratio:.2} |",
        sluice.version,
        sluiced * 1e3
    );
    ensure!(args.max.is_none_or(|max| ratio <= max), "too slow");
    Ok(())
}

const GIT: [&str; 6] = [
    "-c",
    "filter.lfs.process=git-lfs filter-process",
    "-c",
    "filter.lfs.required=true",
    "archive",
    "main",
];

/// A bare repository with files of Git LFS and their objects.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn make(args: &Args) -> Result<Self> {
        let fixture = Self {
            directory: scratch::directory()?,
        };
        let files = fixture.directory.path().join("files");
        fs::create_dir(&files)?;
        fs::write(files.join(".gitattributes"), "*.bin filter=lfs -text\n")?;
        for number in 0..args.files {
            let mut random = Random::new(&[number]);
            let words = std::iter::repeat_with(|| random.next().to_le_bytes());
            let bytes = words.flatten().take(usize::try_from(args.bytes)?);
            fs::write(files.join(format!("{number}.bin")), Vec::from_iter(bytes))?;
        }
        let path = fixture.path();
        let repository = Repository::init(&path)?;
        let git = |words: &[&str]| {
            let mut git = repository.git();
            git.current_dir(&files)
                .env("GIT_DIR", &path)
                .env("GIT_WORK_TREE", &files)
                .args(["-c", "filter.lfs.clean=git-lfs clean -- %f"])
                .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
                .args(words);
            git
        };
        process::run(&mut git(&["add", "."]))?;
        process::run(&mut git(&["commit", "--quiet", "--message=files"]))?;
        process::run(&mut git(&["repack", "-adq"]))?;
        fs::remove_dir_all(&files)?;
        Ok(fixture)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    /// `program` in the repository, out of reach of the user's configuration.
    fn hermetic(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(self.path())
            .args(words);
        command
    }
}

/// Seconds of a run into a pipe that is read as fast as it comes.
fn time(mut command: Command) -> Result<f64> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().context("the output is a pipe")?;
    let mut buffer = vec![0; 1 << 20];
    while pipe.read(&mut buffer)? > 0 {}
    ensure!(child.wait()?.success(), "{command:?} failed");
    Ok(started.elapsed().as_secs_f64())
}
