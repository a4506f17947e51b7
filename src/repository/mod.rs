//! The repository, opened as git opens it, and what its configuration says about archives.
//!
//! gix does the work; this adds what git takes from its environment and gix does not: `-c` given to
//! `git`, object directories, a current directory that is the work tree. Where gix cannot go on,
//! the installed git is asked, so that nobody loses a repository or a message by switching.

pub mod environment;
pub mod open;
pub mod settings;
pub mod treeish;

use std::process::{Command, Stdio};

/// Run the installed git, its standard input closed and its standard error kept.
fn git(arguments: &[&std::ffi::OsStr]) -> Option<std::process::Output> {
    Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()
}
