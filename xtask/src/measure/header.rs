//! The head of a report that goes into the documentation.

use std::path::Path;
use std::process::Command;

use crate::process;

/// The command line, the programs, the machine, and `how` they were measured.
pub(super) fn header(git_sluice: &Path, how: &str) -> anyhow::Result<String> {
    Ok(format!(
        "```sh\n{}\n```\n\n{}; {} cores; {how}.\n\n",
        command(),
        programs(git_sluice)?,
        std::thread::available_parallelism()?,
    ))
}

/// The command line of this task.
pub(super) fn command() -> String {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let typed = typed.iter().map(String::as_str);
    process::quote(["cargo", "xtask"].into_iter().chain(typed))
}

/// The versions of git and of git-sluice.
pub(super) fn programs(git_sluice: &Path) -> anyhow::Result<String> {
    Ok(format!(
        "{}, {}",
        process::text(Command::new("git").arg("--version"))?,
        process::text(Command::new(git_sluice).arg("--version"))?,
    ))
}
