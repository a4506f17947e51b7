//! The head of a report that goes into the documentation.

use std::path::Path;
use std::process::Command;

use crate::process;

/// The command line, the programs, the machine, and `how` they were measured.
pub(super) fn header(git_sluice: &Path, how: &str) -> anyhow::Result<String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let typed = typed.iter().map(String::as_str);
    Ok(format!(
        "```sh\n{}\n```\n\n{}, {}; {} cores; {how}.\n\n",
        process::quote(["cargo", "xtask"].into_iter().chain(typed)),
        process::text(Command::new("git").arg("--version"))?,
        process::text(Command::new(git_sluice).arg("--version"))?,
        std::thread::available_parallelism()?,
    ))
}
