//! `cargo xtask measure compare`: git-sluice beside `git archive`, first for equal bytes, then for time and
//! memory.
//!
//! A table may only be printed for archives that are equal, and both programs must be treated the
//! same: same directory, same arguments, same sink, taking turns at going first.

mod args;
mod contender;
pub(crate) mod equality;
mod hyperfine;
mod report;
mod watched;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::{figures, header::header, median::median};
use crate::{binary, process};
pub(crate) use args::Args;
use contender::Contender;

pub(crate) fn run(args: &Args) -> Result<()> {
    let hyperfine = hyperfine::version()?;
    if args.drop_caches {
        hyperfine::check_drop_caches()?;
    }
    let binary = binary::build()?;
    print!("{}", header(&binary, &report::how(args, &hyperfine))?);
    let mut results = Value::Null;
    for repo in &args.repo {
        print!("{}", compare(args, repo, &binary, &mut results)?);
    }
    match &args.record {
        Some(name) => figures::record(name, &binary, &results),
        None => Ok(()),
    }
}

/// The report about one repository. Adds its medians to `results`.
fn compare(args: &Args, repo: &Path, binary: &Path, results: &mut Value) -> Result<String> {
    let directory = repository_directory(repo)?;
    let mut report = report::archived(&args.rev, &directory)?;
    for format in &args.format {
        let contenders = contenders(args, format, binary);
        let bytes = equality::check(&contenders, &directory)?;
        report += &report::equality(bytes);
        let timings = hyperfine::measure(&contenders, &directory, args)?;
        let watched = watched::measure(&contenders, &directory, &args.to)?;
        report += &report::table(&contenders, &timings, &watched);
        for (sink, timings) in &timings {
            let name = directory.file_name().unwrap_or_default().display();
            let row = format!("{name} {format}, {}", sink.name());
            for (contender, timings) in contenders.iter().zip(timings) {
                let median = (median(timings.wall.iter().copied()) * 1e4).round() / 10.0;
                results[&row][&contender.label] = median.into();
            }
        }
    }
    Ok(report)
}

/// `git archive` first, since all others are measured against it. Without `--threads`, also git-sluice as git starts it.
fn contenders(args: &Args, format: &str, binary: &Path) -> Vec<Contender> {
    let request = vec![format!("--format={format}"), args.rev.clone()];
    let archive = [vec!["archive".to_owned()], request.clone()].concat();
    let mut contenders = vec![Contender::new("git", Path::new("git"), archive)];
    if args.threads.is_empty() {
        contenders.push(Contender::new("git-sluice", binary, request.clone()));
        let sluice = [vec!["sluice".to_owned()], request].concat();
        let mut by_git = Contender::new("git", Path::new("git"), sluice);
        // git looks for its commands in this directory first.
        let exec_path = format!("--exec-path={}", binary.parent().expect("a file").display());
        by_git.arguments.insert(0, exec_path);
        contenders.push(by_git);
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
