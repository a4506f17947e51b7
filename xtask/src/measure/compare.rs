//! `cargo xtask measure compare`: git-sluice beside `git archive`, first for equal bytes, then for time and
//! memory.
//!
//! A table may only be printed for archives that are equal, and both programs must be treated the
//! same: same directory, same arguments, same sink, taking turns at going first. Others may stand beside
//! them, if what is different about theirs is said.

mod args;
mod bars;
mod contender;
pub(crate) mod equality;
mod filters;
mod hyperfine;
mod peers;
mod report;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::binary::{self, Binary};
use crate::process;
pub(crate) use args::Args;
use bars::Bar;
use contender::{Contender, Sink};
use hyperfine::Timings;

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        !args.peers || !args.to.contains(&Sink::File),
        "--peers cannot write to files"
    );
    let hyperfine = hyperfine::version()?;
    if args.drop_caches {
        hyperfine::check_drop_caches()?;
    }
    let binary = binary::build()?;
    let mut report = String::new();
    let mut bars = Vec::new();
    for repo in &args.repo {
        report += &compare(args, repo, &binary, &hyperfine, &mut bars)?;
    }
    if args.plot {
        report += &bars::draw(&bars, args.to[0]);
    }
    print!("{report}");
    if let Some(file) = &args.markdown {
        fs::write(file, report).with_context(|| format!("could not write '{}'", file.display()))?;
    }
    Ok(())
}

/// The report about one repository. A bar for each format is added to `bars`.
fn compare(
    args: &Args,
    repo: &Path,
    binary: &Binary,
    hyperfine: &str,
    bars: &mut Vec<Bar>,
) -> Result<String> {
    let directory = repository_directory(repo)?;
    let versions = [
        process::text(Command::new("git").arg("--version"))?,
        binary.version.clone(),
        hyperfine.to_owned(),
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
        let filtered = if args.filters {
            Some(filters::find(&args.rev, &contenders[1], &directory)?)
        } else {
            None
        };
        if let Some(filtered) = &filtered {
            contenders.extend(filtered.contenders.iter().cloned());
            report += &report::others(&filtered.notes);
        }
        let timings = hyperfine::measure(&contenders, &directory, args)?;
        let watched = watched::measure(&contenders, &directory, &args.to)?;
        report += &report::table(&contenders, &timings, &watched);
        let (_, timings) = &timings[0];
        bars.push(Bar {
            repository: name(repo),
            revision: args.rev.clone(),
            format: format.clone(),
            ratio: median(&timings[1]) / median(&timings[0]),
        });
    }
    Ok(report)
}

fn median(timings: &Timings) -> f64 {
    crate::median::median(timings.wall.iter().copied())
}

/// The name of a repository: that of its directory.
fn name(repo: &Path) -> String {
    let full = repo.canonicalize().unwrap_or_else(|_| repo.to_owned());
    let name = full.file_name().unwrap_or(full.as_os_str());
    name.to_string_lossy().into_owned()
}

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
pub(crate) fn repository_directory(repo: &Path) -> Result<PathBuf> {
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
