//! Asks the installed git where gix cannot continue, so that no repository is unsupported and every message
//! is git's.
//!
//! Each call is one process that ends before the function returns. git's failures are passed on in git's
//! words.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    os::unix::process::CommandExt,
    process::{Command, Output, Stdio},
};

use gix::bstr::ByteSlice;

use crate::error::{Error, Result, strerror};

/// The status of a usage error: git accepted the repository and found nothing to do.
const USAGE: i32 = 129;

/// Run git with `arguments`, its standard input closed and its standard error captured. `None` if git
/// cannot be started.
pub fn ask(arguments: &[&OsStr]) -> Option<Output> {
    Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()
}

/// git's error message, if there is one, with the lines before it.
pub fn refusal(output: &Output) -> Option<Error> {
    let (before, words) = output.stderr.trim_end().split_once_str("fatal: ")?;
    let error = Error::fatal(words);
    Some(before.lines().fold(error, |error, line| error.after(line)))
}

/// Whether git opens the repository of the current directory and reads its configuration. `None` if git
/// cannot be started.
pub fn check_repository() -> Option<Result<()>> {
    let output = ask(&[OsStr::new("rev-parse"), OsStr::new("--git-dir")])?;
    let unsaid = || Error::fatal("cannot open the repository");
    Some(match output.status.success() {
        true => Ok(()),
        false => Err(refusal(&output).unwrap_or_else(unsaid)),
    })
}

/// git's refusal to open the repository of the current directory, if git refuses.
pub fn repository_refusal() -> Option<Error> {
    check_repository()?.err()
}

/// Whether git would serve the repository at `path` to a client of `git archive --remote`. `None` if git
/// cannot be started.
pub fn check_served(path: &OsStr) -> Option<Result<()>> {
    let mut git = Command::new("git")
        .arg("upload-archive--writer")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    if let Some(mut stdin) = git.stdin.take() {
        // An empty list of arguments. A git that refuses the repository does not read it.
        let _ = stdin.write_all(b"0000");
    }
    let output = git.wait_with_output().ok()?;
    if output.status.code() == Some(USAGE) {
        return Some(Ok(()));
    }
    let words = output.stderr.trim_end().to_str_lossy();
    let words = words.strip_prefix("fatal: ").unwrap_or(&words);
    Some(Err(Error::fatal(words)))
}

/// Replace this process by `git archive` with `words`, the client of `--remote`: git knows ssh and
/// `url.*.insteadOf`. Returns only if git cannot be started.
pub fn become_archive(words: &[OsString]) -> Error {
    let failure = Command::new("git").arg("archive").args(words).exec();
    Error::fatal(format!("cannot exec 'git': {}", strerror(&failure)))
}
