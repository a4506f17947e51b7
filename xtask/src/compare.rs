//! `cargo xtask compare`: git-sluice beside `git archive`, first for equal bytes, then for time and
//! memory.
//!
//! A table may only be printed for archives that are equal, and both programs must be treated the
//! same: same directory, same arguments, same sink, taking turns at going first. Others may stand beside
//! them, if what is different about theirs is said.

mod equality;
mod filters;
mod hyperfine;
mod peers;
mod report;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{binary, process};
use hyperfine::Timings;
use watched::Watched;

/// Time git-sluice against `git archive` on any repository, and print a Markdown table
///
/// Builds the release binary, checks that both programs write the same bytes, then lets hyperfine
/// run them by turns, without a shell, into /dev/null and into a pipe. Each number is a median over
/// all rounds; peak memory comes from runs of its own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repository to archive from, bare or with a work tree
    #[arg(long, value_name = "R", default_value = ".")]
    repo: PathBuf,

    /// Revision to archive
    #[arg(long, value_name = "V", default_value = "HEAD")]
    rev: String,

    /// Timed runs of each command into each sink
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Thread counts to give git-sluice, a row for each [default: leave the choice to git-sluice]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    threads: Vec<u32>,

    /// Archive formats to ask both programs for, a table for each
    #[arg(long, value_name = "F,…", value_delimiter = ',', default_value = "tar")]
    format: Vec<String>,

    /// Measure other programs, too: gitoxide, JGit, dulwich and `git cat-file`, as far as installed
    ///
    /// They are asked for tar only. Above the table is said how their archives differ from git's.
    #[arg(long)]
    peers: bool,

    /// Measure git-sluice with filters, too: a thousand patterns, directories and large files left out
    #[arg(long)]
    filters: bool,

    /// Empty the kernel's file caches before each run (needs root)
    #[arg(long)]
    drop_caches: bool,

    /// Write the report to this file, too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let hyperfine = hyperfine::version()?;
    if args.drop_caches {
        hyperfine::check_drop_caches()?;
    }
    let binary = binary::build()?;
    let directory = repository_directory(&args.repo)?;
    let versions = [
        process::text(Command::new("git").arg("--version"))?,
        binary.version,
        hyperfine,
    ];
    let mut report = report::header(args, &directory, &versions)?;
    for format in &args.format {
        let mut contenders = contenders(args, format, &binary.path);
        let bytes = equality::check(&contenders, &directory)?;
        report += &report::equality(bytes);
        if args.peers && format == "tar" {
            let peers = peers::find(&args.rev, &contenders[0], &directory);
            contenders.extend(peers.contenders);
            report += &report::others(&peers.notes);
        }
        let filtered = match args.filters {
            true => Some(filters::find(&args.rev, &contenders[1], &directory)?),
            false => None,
        };
        if let Some(filtered) = &filtered {
            contenders.extend(filtered.contenders.iter().cloned());
            report += &report::others(&filtered.notes);
        }
        let timings = hyperfine::measure(&contenders, &directory, args.runs, args.drop_caches)?;
        let watched = watched::measure(&contenders, &directory)?;
        report += &report::table(&contenders, &timings, &watched);
    }
    print!("{report}");
    if let Some(file) = &args.markdown {
        fs::write(file, report).with_context(|| format!("could not write '{}'", file.display()))?;
    }
    Ok(())
}

/// A program with its arguments, as it is measured.
#[derive(Clone)]
struct Contender {
    /// What the table calls it.
    label: String,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Contender {
    fn new(name: &str, program: &Path, arguments: Vec<String>) -> Self {
        let words = [name]
            .into_iter()
            .chain(arguments.iter().map(String::as_str));
        Contender {
            label: process::quote(words),
            program: program.to_owned(),
            arguments,
        }
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(directory);
        command
    }
}

/// Where the output of a run goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    Null,
    Pipe,
}

impl Sink {
    const ALL: [Sink; 2] = [Sink::Null, Sink::Pipe];

    /// As hyperfine's `--output` takes it.
    fn name(self) -> &'static str {
        match self {
            Sink::Null => "null",
            Sink::Pipe => "pipe",
        }
    }
}

/// Everything measured of one contender with one sink.
type Measured<T> = Vec<(Sink, Vec<T>)>;

/// `git archive` first, since all others are measured against it.
fn contenders(args: &Args, format: &str, binary: &Path) -> Vec<Contender> {
    let request = vec![format!("--format={format}"), args.rev.clone()];
    let archive = [vec!["archive".to_owned()], request.clone()].concat();
    let mut contenders = vec![Contender::new("git", Path::new("git"), archive)];
    if args.threads.is_empty() {
        contenders.push(Contender::new("git-sluice", binary, request));
        return contenders;
    }
    for threads in &args.threads {
        let arguments = [vec![format!("--threads={threads}")], request.clone()].concat();
        contenders.push(Contender::new("git-sluice", binary, arguments));
    }
    contenders
}

/// The top of the work tree, or the git directory of a bare repository: from there both programs
/// find the repository and archive the whole tree.
fn repository_directory(repo: &Path) -> Result<PathBuf> {
    let rev_parse = |what: &str| {
        let mut git = Command::new("git");
        process::text(git.arg("-C").arg(repo).args(["rev-parse", what]))
    };
    let bare = rev_parse("--is-bare-repository")? == "true";
    let directory = if bare {
        "--absolute-git-dir"
    } else {
        "--show-toplevel"
    };
    Ok(rev_parse(directory)?.into())
}
