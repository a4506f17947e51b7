//! Asks for the files that decide about a repository, all at once, before the repository is opened from a disk.
//!
//! To open a repository takes two dozen questions, and each waits for the answer to the one before. On storage with
//! latency that is a fifth of the time of an archive. Nothing here decides anything: what the system was asked for is in its
//! memory when the repository is opened. Only a repository in the current directory or in `GIT_DIR` is asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use crate::environment::Environment;
use sluice_base::read_ahead::{ask_for_files, ask_for_names, in_background};

/// The files of a git directory that are read in any case (gitrepository-layout(5)).
const FILES: [&str; 3] = ["HEAD", "config", "packed-refs"];
/// Names in it that are looked for in any case.
const NAMES: [&str; 10] = [
    "commondir",
    "info/attributes",
    "objects/info/alternates",
    "objects/pack/multi-pack-index",
    "refs/heads/HEAD",
    "refs/HEAD",
    "refs/remotes",
    "refs/replace",
    "refs/tags/HEAD",
    "shallow",
];
/// The most bytes of the files that are asked for.
const MAX_BYTES: u64 = 16 << 20;

/// Opens the repository of `environment` with `open`, and asks for its files meanwhile if they are not in memory.
pub(super) fn ask_while<T>(environment: &Environment, open: impl FnOnce() -> T) -> T {
    let git_dir = likely_git_dir(environment);
    let Some(git_dir) = git_dir.filter(|git_dir| is_cold_repository(git_dir)) else {
        return open();
    };
    thread::scope(|scope| {
        let join = |name: &str| git_dir.join(name);
        in_background(scope, move || ask_for_names(&NAMES.map(join)));
        in_background(scope, move || {
            ask_for_files(FILES.len(), MAX_BYTES, |number| [join(FILES[number])]);
        });
        open()
    })
}

/// Where the git directory most often is.
fn likely_git_dir(environment: &Environment) -> Option<PathBuf> {
    let cwd = &environment.cwd;
    if let Some(git_dir) = &environment.discovery.git_dir {
        return Some(cwd.join(git_dir));
    }
    let inner = cwd.join(".git");
    match fs::metadata(&inner) {
        // A file names a git directory elsewhere.
        Ok(found) => found.is_dir().then_some(inner),
        Err(_) => Some(cwd.clone()),
    }
}

/// Whether `git_dir` is a git directory that is not in memory.
fn is_cold_repository(git_dir: &Path) -> bool {
    let head = git_dir.join("HEAD");
    is_cold(&head) && head.exists()
}

/// Whether the system has to ask a disk where `path` leads to. False if the system does not say so.
#[cfg(target_os = "linux")]
fn is_cold(path: &Path) -> bool {
    use rustix::{
        fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
        io::Errno,
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED);
    found.err() == Some(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
fn is_cold(_: &Path) -> bool {
    false
}
