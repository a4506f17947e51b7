//! The client's side of `--remote`: the installed git does it.
//!
//! It knows ssh, `url.*.insteadOf` and whatever comes next; there is nothing in it that could be
//! faster.

use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

use crate::error::{Error, strerror};

/// Go on as `git archive` with `words`. Comes back only if that cannot be.
pub fn git_archive(words: &[OsString]) -> Error {
    let failure = Command::new("git").arg("archive").args(words).exec();
    Error::fatal(format!("cannot exec 'git': {}", strerror(&failure)))
}
