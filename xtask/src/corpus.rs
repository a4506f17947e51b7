//! `cargo xtask corpus`: a large, realistic repository made from a seed, to measure on without
//! downloading anything.
//!
//! The same arguments give the same object ids on every machine: nothing here may depend on the
//! clock, on the user's configuration, on floating-point functions or on the order of a hash map.
//! Pack files may differ, since they are git's choice.

mod content;
mod history;
mod layout;
mod random;
mod size;
mod words;

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::process;
use content::FixedRecords;
use history::History;

/// Make a large bare repository from a seed, with the history and the packs of a real one
///
/// The tree holds source code, build files, documents, tables, binaries, symbolic links and
/// executables, up to eight names deep. Each commit edits from four to some hundred files, so that
/// old revisions lie behind delta chains. The tag `old` stands at a tenth of the history. The same
/// arguments always give the same commit ids.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to make the repository; must be absent or empty
    dir: PathBuf,

    /// Files at HEAD, symbolic links included
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(1..))]
    files: u32,

    /// Commits, all on one branch
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    commits: u32,

    /// What everything is derived from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// About how many bytes the files have at HEAD [default: 6400 for each file]
    #[arg(long, value_name = "N[kmg]", value_parser = size::parse)]
    bytes: Option<u64>,

    /// Add a file of exactly this size whose version at HEAD is stored as a delta
    ///
    /// To find the delta, git takes about five times as much memory.
    #[arg(long, value_name = "N[kmg]", value_parser = size::parse)]
    big_blob: Option<u64>,

    /// Packs to leave, each with a part of the history, without a multi-pack index
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    packs: u32,
}

/// Bytes of an average file, as in a large C project.
const BYTES_PER_FILE: u64 = 6400;

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        args.packs <= args.commits,
        "each pack needs a commit: --packs is above --commits"
    );
    let started = Instant::now();
    let repository = Repository::init(&args.dir)?;
    let bytes = args.bytes.unwrap_or(u64::from(args.files) * BYTES_PER_FILE);
    let files = layout::plan(
        args.files - u32::from(args.big_blob.is_some()),
        bytes,
        args.seed,
    );
    let big_blob = args.big_blob.map(|size| FixedRecords {
        seed: args.seed,
        size,
    });
    let mut history = History::new(&files, big_blob, args.commits, args.seed);
    for commits in split(args.commits, args.packs) {
        repository.import(&mut history, commits)?;
        repository.pack(args.big_blob)?;
    }
    repository.release_packs()?;
    eprintln!(
        "{}: {} files, {} commits, {} MB at HEAD, {} MB packed, in {:.0} s",
        args.dir.display(),
        args.files,
        args.commits,
        history.bytes_at_head() / 1_000_000,
        repository.packed_bytes()? / 1_000_000,
        started.elapsed().as_secs_f64(),
    );
    println!(
        "{}",
        process::text(repository.git().args(["rev-parse", "HEAD"]))?
    );
    Ok(())
}

/// Makes a small repository in `dir` as `git fast-import` leaves it, for those who pack it themselves.
pub(crate) fn unpacked(dir: &Path, files: u32, commits: u32) -> Result<Repository<'_>> {
    const SEED: u64 = 1;
    let repository = Repository::init(dir)?;
    let files = layout::plan(files, u64::from(files) * BYTES_PER_FILE, SEED);
    let mut history = History::new(&files, None, commits, SEED);
    repository.import(&mut history, 0..commits)?;
    Ok(repository)
}

/// Cuts `0..commits` into `parts` ranges that differ by one at most.
fn split(commits: u32, parts: u32) -> impl Iterator<Item = Range<u32>> {
    let start = move |part: u32| (u64::from(commits) * u64::from(part) / u64::from(parts)) as u32;
    (0..parts).map(move |part| start(part)..start(part + 1))
}

/// The repository being made.
pub(crate) struct Repository<'a> {
    dir: &'a Path,
}

impl<'a> Repository<'a> {
    pub(crate) fn init(dir: &'a Path) -> Result<Self> {
        let empty = !dir.exists() || dir.is_dir() && fs::read_dir(dir)?.next().is_none();
        ensure!(
            empty,
            "'{}' exists and is not an empty directory",
            dir.display()
        );
        fs::create_dir_all(dir).with_context(|| format!("could not make '{}'", dir.display()))?;
        let repository = Repository { dir };
        let flags = ["--quiet", "--bare", "--template=", "--object-format=sha1"];
        process::run(
            repository
                .git()
                .arg("init")
                .args(flags)
                .arg("--initial-branch=main"),
        )?;
        // So that no later command repacks what was made to be as it is.
        process::run(repository.git().args(["config", "gc.auto", "0"]))?;
        Ok(repository)
    }

    /// git in this repository, out of reach of the user's configuration and environment.
    pub(crate) fn git(&self) -> Command {
        let mut git = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                git.env_remove(name);
            }
        }
        git.env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.env("LC_ALL", "C")
            .env("TZ", "UTC")
            .current_dir(self.dir);
        git
    }

    /// Streams `commits` into `git fast-import`.
    fn import(&self, history: &mut History<'_>, commits: Range<u32>) -> Result<()> {
        eprintln!("importing commits {} to {}", commits.start + 1, commits.end);
        // Depth 0: the deltas come from the repack, which tries more than the last blob sent.
        let mut command = self.git();
        command
            .args(["fast-import", "--quiet", "--done", "--depth=0"])
            .stdin(Stdio::piped());
        let mut import = command.spawn().context("could not start git fast-import")?;
        let pipe = import.stdin.take().expect("stdin was asked to be a pipe");
        let mut stream = BufWriter::with_capacity(1 << 20, pipe);
        let written = history
            .write(commits, &mut stream)
            .and_then(|()| stream.flush());
        drop(stream);
        let status = import.wait()?;
        ensure!(status.success(), "git fast-import failed: {status}");
        written.context("could not write to git fast-import")
    }

    /// Packs what no earlier call has packed, then marks the new pack as one to be kept.
    fn pack(&self, big_blob: Option<u64>) -> Result<()> {
        eprintln!("packing");
        let mut git = self.git();
        git.args(["-c", "pack.threads=2", "-c", "repack.writeBitmaps=false"]);
        if let Some(size) = big_blob {
            // Above this size git stores blobs whole; the older version is one record larger.
            git.arg("-c")
                .arg(format!("core.bigFileThreshold={}", size.max(512 << 20) * 2));
        }
        process::run(git.args(["repack", "-q", "-adf", "--depth=50", "--window=10"]))?;
        for pack in self.packs()? {
            File::create(pack.with_extension("keep"))?;
        }
        Ok(())
    }

    fn release_packs(&self) -> Result<()> {
        for pack in self.packs()? {
            fs::remove_file(pack.with_extension("keep"))?;
        }
        Ok(())
    }

    fn packed_bytes(&self) -> Result<u64> {
        let mut total = 0;
        for pack in self.packs()? {
            total += fs::metadata(pack)?.len();
        }
        Ok(total)
    }

    fn packs(&self) -> Result<Vec<PathBuf>> {
        let mut packs = Vec::new();
        for entry in fs::read_dir(self.dir.join("objects/pack"))? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "pack")
            {
                packs.push(path);
            }
        }
        Ok(packs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    /// If this id has to change, figures measured on a corpus can no longer be made again.
    #[test]
    fn a_seed_gives_the_same_head_on_every_machine() {
        if process::text(Command::new("git").arg("--version")).is_err() {
            eprintln!("SKIP: git is not installed");
            return;
        }
        let directory = scratch::directory().unwrap();
        let dir = directory.path();
        let args = Args {
            dir: dir.to_owned(),
            files: 300,
            commits: 20,
            seed: 1,
            bytes: None,
            big_blob: Some(100_000),
            packs: 3,
        };
        run(&args).unwrap();
        let repository = Repository { dir };
        let packs = repository.packs().unwrap().len();
        let head = process::text(repository.git().args(["rev-parse", "HEAD"])).unwrap();
        let fsck = process::run(repository.git().args(["fsck", "--strict", "--no-progress"]));
        fsck.unwrap();
        assert_eq!(packs, 3);
        assert_eq!(head, "f2c278d6816c0f0e8b472ae93598f07f109f56db");
    }

    #[test]
    fn commits_are_split_evenly() {
        let parts: Vec<_> = split(10, 3).collect();
        assert_eq!(parts, [0..3, 3..6, 6..10]);
    }
}
