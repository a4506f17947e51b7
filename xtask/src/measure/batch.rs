//! `cargo xtask measure batch`: many small requests to one process, against a process for each, and against git kept hot.
//!
//! Deltas of one file, over many small repositories in random order: asked one by one, the candidates in turns. The files
//! in the deltas are compared with those of git. Then a whole archive, requests without end, and random requests while
//! the repositories change.

mod client;
mod fixture;
mod hot_git;
mod random;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::corpus::Random;
use crate::median::median;
use crate::{binary, process};
use client::{Client, request};
use fixture::{Fixture, hermetic};
use hot_git::HotGit;

/// Time many requests to one process
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of repositories
    #[arg(long, default_value_t = 100)]
    repositories: u32,
    /// The number of files in each of them
    #[arg(long, default_value_t = 200)]
    files: u32,
    /// How many deltas are asked for
    #[arg(long, default_value_t = 5000)]
    requests: usize,
    /// A repository whose archive is asked for whole
    #[arg(long)]
    repo: Option<PathBuf>,
    /// How often that archive is asked for
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// The number of requests after which memory and open files are looked at again
    #[arg(long, default_value_t = 20_000)]
    endless: u64,
    /// The number of random requests while the repositories change
    #[arg(long, default_value_t = 1000)]
    random: u64,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if a figure is worse than what is promised
    #[arg(long)]
    check: bool,
}

/// Requests that a candidate gets in its turn.
const TURN: usize = 100;
/// Memory and open files are looked at after so many requests, and at the end. The first look is what the others are
/// compared with. It comes when memory was just given back, the next two halfway to the next time.
const LOOKS: [u64; 3] = [1000, 10_500, 100_500];

pub(crate) fn run(args: &Args) -> Result<()> {
    let sluice = binary::build()?;
    let program = &*sluice.path;
    let fixture = Fixture::make(args.repositories, args.files)?;
    println!(
        "| one-file delta of {} repositories | median ms | 99 % | ratio |",
        args.repositories
    );
    println!("|---|--:|--:|--:|");
    let mut bars = Bars::default();
    deltas(args, program, &fixture, &mut bars)?;
    match &args.repo {
        Some(repo) => whole(args, program, &fs::canonicalize(repo)?, &mut bars)?,
        None => println!("SKIP: no --repo, so no whole archive"),
    }
    endless(args, program, &fixture, &mut bars)?;
    let changes = random::check(program, args.random, args.seed)?;
    println!(
        "{} random requests, {changes} changes: each answer that of a process",
        args.random
    );
    bars.judge(args.check)
}

/// What is promised, and missed.
#[derive(Default)]
struct Bars(Vec<String>);

impl Bars {
    fn at_most(&mut self, what: &str, figure: f64, bar: f64) {
        if figure > bar {
            self.0
                .push(format!("{what} is {figure:.3}, more than {bar}"));
        }
    }

    fn judge(self, check: bool) -> Result<()> {
        self.0
            .iter()
            .for_each(|missed| println!("missed: {missed}"));
        ensure!(self.0.is_empty() || !check, "a promise is not kept");
        Ok(())
    }
}

/// Times in seconds.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn take<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let done = work();
        self.0.push(started.elapsed().as_secs_f64());
        done
    }

    fn median(&self) -> f64 {
        median(self.0.iter().copied())
    }

    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() - 1) * percent / 100]
    }
}

/// One-file deltas: by one batch, by a process each, and by git's two hot processes for each repository.
fn deltas(args: &Args, program: &Path, fixture: &Fixture, bars: &mut Bars) -> Result<()> {
    const WORDS: [&str; 2] = ["--base=HEAD~1", "HEAD"];
    let mut random = Random::new(&[args.seed]);
    let mut client = Client::start(hermetic(program, fixture.beside()).arg("batch"))?;
    let mut hot: Vec<HotGit> = Vec::new();
    for repository in &fixture.repositories {
        hot.push(HotGit::start(repository)?);
        // Both sides have seen every repository before they are timed.
        client.ask(repository, &WORDS)?;
        client.ask(repository, &WORDS)?;
    }
    let [mut batch, mut alone, mut git] = [const { Times(Vec::new()) }; 3];
    for _ in 0..args.requests.div_ceil(TURN) {
        let numbers = [(); TURN].map(|()| random.below(args.repositories.into()) as usize);
        let mut expected = Vec::new();
        for number in numbers {
            let mut process = hermetic(program, &fixture.repositories[number]);
            expected.push(alone.take(|| process::quiet(process.args(WORDS)))?);
        }
        for (number, expected) in numbers.into_iter().zip(&expected) {
            let repository = &fixture.repositories[number];
            let answer = batch.take(|| client.ask(repository, &WORDS))?;
            let is_same = answer.status == 0 && answer.data == *expected;
            ensure!(is_same, "the deltas differ");
        }
        for (number, expected) in numbers.into_iter().zip(&expected) {
            let changed = git.take(|| hot[number].changed_file())?;
            ensure!(last_file(expected)? == changed, "the files differ");
        }
    }
    client.end()?;
    let row = |name: &str, times: &Times| {
        let ratio = times.median() / alone.median();
        println!(
            "| {name} | {:.3} | {:.3} | {ratio:.3} |",
            times.median() * 1e3,
            times.percentile(99) * 1e3
        );
        ratio
    };
    row("a process each", &alone);
    row("git diff-tree --stdin, git cat-file --batch", &git);
    let ratio = row("git sluice batch", &batch);
    bars.at_most("the median in ms", batch.median() * 1e3, 0.35);
    bars.at_most("the 99th percentile in ms", batch.percentile(99) * 1e3, 1.0);
    bars.at_most("the part of a process", ratio, 0.15);
    Ok(())
}

/// The last file of an archive.
fn last_file(archive: &[u8]) -> Result<Vec<u8>> {
    let mut last = None;
    for entry in tar::Archive::new(archive).entries()? {
        let mut content = Vec::new();
        entry?.read_to_end(&mut content)?;
        last = Some(content);
    }
    last.context("an archive without files")
}

/// A whole archive: through a batch, and by a process. Both are read in the same way, and thrown away.
fn whole(args: &Args, program: &Path, repo: &Path, bars: &mut Bars) -> Result<()> {
    let request = request(repo, &["HEAD"]);
    let [mut batch, mut alone] = [const { Times(Vec::new()) }; 2];
    for _ in 0..args.rounds {
        let one = |words: &[&str]| {
            let mut command = hermetic(program, repo);
            let pipes = command
                .args(words)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            pipes.spawn().context("could not start")
        };
        alone.take(|| drain(one(&["HEAD"])?, &[]))?;
        batch.take(|| drain(one(&["batch"])?, &request))?;
    }
    let ratio = batch.median() / alone.median();
    let (batch, alone) = (batch.median() * 1e3, alone.median() * 1e3);
    println!("whole archive: {batch:.1} ms, {alone:.1} by a process, ratio {ratio:.3}");
    bars.at_most("the whole archive", ratio, 1.03);
    Ok(())
}

/// Gives `input` to a process and reads what comes.
fn drain(mut process: Child, input: &[u8]) -> Result<()> {
    let mut stdin = process.stdin.take().context("no pipe")?;
    stdin.write_all(input)?;
    drop(stdin);
    let mut stdout = process.stdout.take().context("no pipe")?;
    let mut piece = vec![0; 1 << 20];
    while stdout.read(&mut piece)? > 0 {}
    ensure!(process.wait()?.success(), "a failure");
    Ok(())
}

/// Requests without end, far ahead of their answers: memory and open files stay.
fn endless(args: &Args, program: &Path, fixture: &Fixture, bars: &mut Bars) -> Result<()> {
    let mut random = Random::new(&[args.seed, 1]);
    let client = Client::start(hermetic(program, fixture.beside()).arg("batch"))?;
    let (id, repositories) = (client.id(), &fixture.repositories);
    let (mut requests, mut answers) = client.split();
    let looks = thread::scope(|scope| {
        let sender = scope.spawn(move || {
            for _ in 0..args.endless {
                let repository = &repositories[random.below(repositories.len() as u64) as usize];
                let request = request(repository, &["--base=HEAD~1", "HEAD"]);
                // Where the process has ended, an answer is missed.
                if requests.write_all(&request).is_err() {
                    break;
                }
            }
            requests
        });
        let mut looks = Vec::new();
        for number in 1..=args.endless {
            ensure!(answers.next()?.status == 0, "a failure");
            if LOOKS.contains(&number) || number == args.endless {
                looks.push((number, Held::by(id)?));
            }
        }
        drop(sender.join());
        Ok(looks)
    })?;
    println!("| requests | KiB of memory | of the first | open files |");
    println!("|--:|--:|--:|--:|");
    let (_, first) = looks.first().context("no requests")?;
    for (number, held) in &looks {
        let growth = held.anonymous as f64 / first.anonymous as f64;
        println!(
            "| {number} | {} | {growth:.3} | {} |",
            held.anonymous, held.files
        );
        bars.at_most("the growth of memory", growth, 1.1);
        let more = held.files as f64 - first.files as f64;
        bars.at_most("the number of new open files", more, MOVING_FILES);
    }
    Ok(())
}

/// Files that requests on their way may have open.
const MOVING_FILES: f64 = 8.0;

/// What a process holds.
struct Held {
    /// KiB of memory without a file behind it.
    anonymous: u64,
    files: usize,
}

impl Held {
    fn by(process: u32) -> Result<Self> {
        let directory = PathBuf::from(format!("/proc/{process}"));
        let rollup = fs::read_to_string(directory.join("smaps_rollup"))?;
        let mut lines = rollup.lines();
        let anonymous = lines.find_map(|line| line.strip_prefix("Anonymous:"));
        let anonymous = anonymous.and_then(|line| line.split_whitespace().next());
        Ok(Self {
            anonymous: anonymous.context("no figure of memory")?.parse()?,
            files: fs::read_dir(directory.join("fd"))?.count(),
        })
    }
}
