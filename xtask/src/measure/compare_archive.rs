//! `cargo xtask measure compare-archive`: `git sluice compare` against the hash of the same bytes, and against `diff -r` of two
//! directories.
//!
//! The results are checked before anything is timed. The figures are medians over rounds in which the candidates take turns. The
//! memory is that of an archive with a million entries, which comes by a pipe.

use std::{
    fs,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::usage;
use crate::{binary, median::median, process};

/// Time the comparison of an archive with its commit
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The repository
    #[arg(long)]
    repo: PathBuf,
    /// The commit
    #[arg(long, default_value = "HEAD")]
    revision: String,
    /// The directory in which archives and trees are made
    #[arg(long, default_value = "/dev/shm")]
    below: PathBuf,
    /// How often each candidate takes its turn
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// The program, by default the one of this work tree
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The candidates, and what each does. The archive `more` has one file more, so nothing is compressed to name its bytes.
const CANDIDATES: [(&str, &str); 7] = [
    ("sha1sum, tar", "sha1sum tar"),
    (
        "compare, tar",
        "cd $REPO && $SLUICE compare $PLACE/tar $REVISION",
    ),
    ("gzip -dc, sha1sum", "gzip -dc tar.gz | sha1sum"),
    (
        "compare, tar.gz with a file more",
        "cd $REPO && ! $SLUICE compare $PLACE/more.tar.gz $REVISION",
    ),
    (
        "compare, tar.gz, with its bytes",
        "cd $REPO && $SLUICE compare $PLACE/tar.gz $REVISION",
    ),
    (
        "tar x, git archive, tar x, diff -r",
        "rm -rf one other && mkdir one other && tar -xf tar -C one && \
         git -C $REPO archive --prefix=p/ $REVISION | tar -xf - -C other && diff -r one other",
    ),
    (
        "tar x, compare of the directory",
        "rm -rf one && mkdir one && tar -xf tar -C one && cd $REPO && $SLUICE compare $PLACE/one $REVISION",
    ),
];
/// Which candidates are compared, by their numbers.
const COMPARED: [(usize, usize); 4] = [(1, 0), (3, 2), (4, 2), (1, 5)];
/// The entries of the archive whose list fills the memory.
const ENTRIES: usize = 1_000_000;

pub(crate) fn run(args: &Args) -> Result<()> {
    let place = Place {
        directory: tempfile::tempdir_in(&args.below)?,
        repository: fs::canonicalize(&args.repo)?,
        sluice: binary::at_or_built(args.program.as_deref())?,
        revision: args.revision.clone(),
    };
    let memory = place.memory_of_a_million()?;
    let archives = "git -C $REPO archive --prefix=p/ $REVISION >tar && git -C $REPO archive --prefix=p/ --format=tar.gz $REVISION >tar.gz && \
                    mkdir -p p && echo more >p/one-more-file && cp tar more.tar && tar -rf more.tar p/one-more-file && gzip -n more.tar";
    let _ = place.shell(archives)?;
    let said = place.shell(CANDIDATES[4].1)?;
    ensure!(
        said.starts_with(b"identical: "),
        "the archive is not found to be identical"
    );
    let mut seconds = vec![Vec::new(); CANDIDATES.len()];
    for _ in 0..args.rounds {
        for ((_, script), seconds) in CANDIDATES.iter().zip(&mut seconds) {
            let started = Instant::now();
            let _ = place.shell(script)?;
            seconds.push(started.elapsed().as_secs_f64());
        }
    }
    let medians = Vec::from_iter(seconds.into_iter().map(median));
    println!("| candidate | ms |\n|---|--:|");
    for ((name, _), seconds) in CANDIDATES.iter().zip(&medians) {
        println!("| {name} | {:.0} |", seconds * 1e3);
    }
    println!("\n| | of | ratio |\n|---|---|--:|");
    for (ours, other) in COMPARED {
        let ratio = medians[ours] / medians[other];
        let [ours, other] = [ours, other].map(|at| CANDIDATES[at].0);
        println!("| {ours} | {other} | {ratio:.2} |");
    }
    println!("\nmemory with {ENTRIES} entries: {memory} MiB");
    Ok(())
}

/// Where the candidates work.
struct Place {
    directory: TempDir,
    repository: PathBuf,
    sluice: PathBuf,
    revision: String,
}

impl Place {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn shell(&self, script: &str) -> Result<Vec<u8>> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .current_dir(self.path())
            .env("REPO", &self.repository)
            .env("PLACE", self.path())
            .env("REVISION", &self.revision)
            .env("SLUICE", &self.sluice);
        process::quiet(&mut shell)
    }

    /// The most memory that a comparison of many empty files takes, in MiB. No larger process may have run before.
    fn memory_of_a_million(&self) -> Result<i64> {
        let mut child = Command::new(&self.sluice)
            .args(["compare", "-", &self.revision])
            .current_dir(&self.repository)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("a pipe was asked for")?;
        let mut input = BufWriter::with_capacity(1 << 20, input);
        for number in 0..ENTRIES {
            input.write_all(&header(&format!(
                "p/directory-{}/of/some/length/file-{number:07}.txt",
                number / 100
            )))?;
        }
        input.write_all(&[0; 1024])?;
        drop(input);
        let status = child.wait()?;
        ensure!(
            status.code() == Some(1),
            "all files are added ones: {status}"
        );
        Ok(usage::of_children()?.ru_maxrss / 1024)
    }
}

/// The header of an empty file called `name`.
fn header(name: &str) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, b"00000000000\0");
    put(136, b"00000000000\0");
    put(148, b"        0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}
