//! The head of a report that goes into the documentation.

use std::path::Path;
use std::process::Command;

use crate::process;

/// The command line, the programs, the machine and the `rounds`.
pub fn header(git_sluice: &Path, rounds: u32) -> anyhow::Result<String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let typed = typed.iter().map(String::as_str);
    Ok(format!(
        "```sh\n{}\n```\n\n{}, {}; {} cores; medians, `--rounds={rounds}`.\n\n",
        process::quote(["cargo", "xtask"].into_iter().chain(typed)),
        process::text(Command::new("git").arg("--version"))?,
        process::text(Command::new(git_sluice).arg("--version"))?,
        std::thread::available_parallelism()?,
    ))
}
