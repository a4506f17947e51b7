//! The installed git, asked where gix cannot go on, so that nobody loses a repository or a message by
//! switching.
//!
//! Each call is one process that ends before the function returns. An answer is git's own; its failures are
//! passed on in its own words.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    os::unix::process::CommandExt,
    process::{Command, Output, Stdio},
};

use gix::bstr::ByteSlice;

use crate::error::{Error, Result, strerror};

/// The status of a usage error, which is as far as git gets with nothing to do.
const USAGE: i32 = 129;

/// Run git with `arguments`, its standard input closed and its standard error kept. Nothing if git cannot be
/// started.
pub fn ask(arguments: &[&OsStr]) -> Option<Output> {
    Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()
}

/// The failure of git in its own words, if it has any, with the lines in front of it.
pub fn refusal(output: &Output) -> Option<Error> {
    let (before, words) = output.stderr.trim_end().split_once_str("fatal: ")?;
    let error = Error::fatal(words);
    Some(before.lines().fold(error, |error, line| error.after(line)))
}

/// Whether git opens the repository of the current directory and reads its configuration. Nothing if git cannot
/// be started.
pub fn check_repository() -> Option<Result<()>> {
    let output = ask(&[OsStr::new("rev-parse"), OsStr::new("--git-dir")])?;
    let unsaid = || Error::fatal("cannot open the repository");
    Some(match output.status.success() {
        true => Ok(()),
        false => Err(refusal(&output).unwrap_or_else(unsaid)),
    })
}

/// The refusal of git to open the repository of the current directory, if git refuses.
pub fn repository_refusal() -> Option<Error> {
    check_repository()?.err()
}

/// Whether git would serve the repository at `path` to a client of `git archive --remote`. Nothing if git
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
        // No argument at all. Whoever refuses does not read it.
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

/// Become `git archive` with `words`: the client's side of `--remote`, since git knows ssh and
/// `url.*.insteadOf`. Comes back only if git cannot be started.
pub fn become_archive(words: &[OsString]) -> Error {
    let failure = Command::new("git").arg("archive").args(words).exec();
    Error::fatal(format!("cannot exec 'git': {}", strerror(&failure)))
}
