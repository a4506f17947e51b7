//! `stand-in --check`: which parts of git-sluice are in force for this user and this environment.
//!
//! The stand-in itself is asked, as a host would ask it, so the answers include all that the environment does to it.

use std::{
    env,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use gix::bstr::{BString, ByteSlice};

use super::script::{NAME, identity, is_program, is_stand_in};
use crate::{
    base::error::{Error, Result, format_bytes, printable_path, strerror},
    cache,
    cli::Args,
    git::{environment::Environment, repository::Repository},
    output::report::open_log,
    request::{cache_settings, log_file},
};

/// The columns of a name.
const NAME_WIDTH: usize = 16;
/// The start of the version that git-sluice prints, and of its usage as a server.
const VERSION: &[u8] = b"git-sluice ";
const SERVER: &[u8] = b"Serve 'git archive --remote'";

/// The state of one part.
struct CheckedPart {
    name: &'static str,
    state: BString,
    is_in_force: bool,
}

impl CheckedPart {
    fn in_force(name: &'static str, state: impl Into<BString>) -> Self {
        Self {
            name,
            state: state.into(),
            is_in_force: true,
        }
    }

    fn failing(name: &'static str, state: impl Into<BString>) -> Self {
        Self {
            is_in_force: false,
            ..Self::in_force(name, state)
        }
    }
}

/// The report about the stand-in in `directory`, a line for each part, and whether all parts are in force. Programs are
/// searched in `paths`, the value of `PATH`.
pub fn check(
    directory: &Path,
    paths: &OsStr,
    environment: &Environment,
    repository: Option<&Repository>,
) -> Result<(BString, bool)> {
    let file = directory.join(NAME);
    if !is_stand_in(&file) {
        let path = file.as_os_str().as_bytes();
        let refused = format_bytes("'{}' is not a stand-in", &[path]);
        let hint = format_bytes(
            "git sluice stand-in '{}'",
            &[directory.as_os_str().as_bytes()],
        );
        return Err(Error::fatal(refused).hinted(hint));
    }
    let mut parts = vec![
        first_in_path(&file, paths),
        archives(&file),
        server(&file),
        other_commands(&file),
        shared(environment, repository),
        log(environment, repository),
    ];
    parts.extend(configuration(&file));
    let is_in_force = parts.iter().all(|part| part.is_in_force);
    let mut report = BString::default();
    for CheckedPart { name, state, .. } in parts {
        report.extend_from_slice(format!("{name:<NAME_WIDTH$}").as_bytes());
        report.extend_from_slice(&printable_path(&state));
        report.push(b'\n');
    }
    Ok((report, is_in_force))
}

/// The answer of the stand-in to `words`, if it starts.
fn ask(file: &Path, words: &[&str]) -> Option<Output> {
    let mut command = Command::new(file);
    command.args(words).stdin(Stdio::null()).output().ok()
}

fn first_in_path(file: &Path, paths: &OsStr) -> CheckedPart {
    const NAME_OF_PART: &str = "PATH";
    // `git sluice` puts the programs of git first into the PATH of git-sluice, but not into that of the caller.
    let of_git = ask(file, &["--exec-path"]).map(|answer| answer.stdout);
    let of_git = of_git.unwrap_or_default();
    let is_searched = |directory: &PathBuf| path_bytes(directory) != of_git.trim_end();
    let searched = env::split_paths(paths).filter(is_searched);
    let mut named = searched.map(|directory| directory.join(NAME));
    let first = named.find(|path| is_program(path));
    match first {
        Some(first) if identity(&first) == identity(file) => {
            CheckedPart::in_force(NAME_OF_PART, path_bytes(&first))
        }
        Some(first) => {
            let state = format_bytes("another git comes first: {}", &[&path_bytes(&first)]);
            CheckedPart::failing(NAME_OF_PART, state)
        }
        None => CheckedPart::failing(NAME_OF_PART, "no git"),
    }
}

fn archives(file: &Path) -> CheckedPart {
    let answer = ask(file, &["archive", "--version"]);
    let version = answer.filter(|answer| answer.stdout.starts_with(VERSION));
    match version {
        Some(version) => CheckedPart::in_force("archive", version.stdout.trim_end()),
        None => CheckedPart::failing(
            "archive",
            "git, because git-sluice is missing or does not start",
        ),
    }
}

fn server(file: &Path) -> CheckedPart {
    let answer = ask(file, &["upload-archive", "-h"]);
    match answer.is_some_and(|answer| answer.stdout.starts_with(SERVER)) {
        true => CheckedPart::in_force("upload-archive", "git-sluice"),
        false => CheckedPart::failing(
            "upload-archive",
            "git, because git-sluice is missing or does not start",
        ),
    }
}

fn other_commands(file: &Path) -> CheckedPart {
    const NAME_OF_PART: &str = "other commands";
    match ask(file, &["version"]) {
        Some(answer) if answer.status.success() => {
            CheckedPart::in_force(NAME_OF_PART, answer.stdout.trim_end())
        }
        Some(answer) => CheckedPart::failing(
            NAME_OF_PART,
            answer.stderr.lines().next().unwrap_or_default(),
        ),
        None => CheckedPart::failing(NAME_OF_PART, "the stand-in does not start"),
    }
}

fn shared(environment: &Environment, repository: Option<&Repository>) -> CheckedPart {
    const NAME_OF_PART: &str = "cache";
    let Some(repository) = repository else {
        return CheckedPart::in_force(NAME_OF_PART, "unknown outside of a repository");
    };
    match cache_settings(&Args::default(), environment, repository) {
        Ok(None) => CheckedPart::in_force(NAME_OF_PART, "none"),
        Ok(Some(settings)) => {
            let directory = path_bytes(&settings.directory);
            match cache::unusable(&settings) {
                None => CheckedPart::in_force(NAME_OF_PART, directory),
                Some(reason) => {
                    let values = [&directory[..], reason.as_bytes()];
                    CheckedPart::failing(NAME_OF_PART, format_bytes("{} is not used: {}", &values))
                }
            }
        }
        Err(error) => CheckedPart::failing(NAME_OF_PART, error.message()),
    }
}

fn log(environment: &Environment, repository: Option<&Repository>) -> CheckedPart {
    const NAME_OF_PART: &str = "log";
    let Some(file) = log_file(environment, repository) else {
        return CheckedPart::in_force(NAME_OF_PART, "none");
    };
    let path = path_bytes(&file);
    match open_log(&file) {
        Ok(_) => CheckedPart::in_force(NAME_OF_PART, path),
        Err(error) => {
            let why = strerror(&error);
            let values = [&path[..], why.as_bytes()];
            CheckedPart::failing(
                NAME_OF_PART,
                format_bytes("{} cannot be written: {}", &values),
            )
        }
    }
}

/// The keys of the configuration, each with the file that it comes from.
fn configuration(file: &Path) -> Vec<CheckedPart> {
    const NAME_OF_PART: &str = "configuration";
    let words = ["config", "--show-origin", "--get-regexp", r"^sluice\."];
    let keys = ask(file, &words).map(|answer| answer.stdout);
    let keys = keys.unwrap_or_default();
    if keys.is_empty() {
        return vec![CheckedPart::in_force(NAME_OF_PART, "no key of git-sluice")];
    }
    let lines = keys.lines().map(|line| line.replace("\t", " "));
    lines
        .map(|line| CheckedPart::in_force(NAME_OF_PART, line))
        .collect()
}

fn path_bytes(path: &Path) -> BString {
    path.as_os_str().as_bytes().into()
}
