//! `stand-in --check`: which parts of git-sluice are used for this user and this environment.
//!
//! The stand-in itself is asked, as a host would ask it, so the answers include all that the environment does to it.

use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use bstr::{BString, ByteSlice};

use super::script::{NAME, identity, is_program, is_stand_in};
use sluice_base::error::{Error, Result, format_bytes, printable_path, strerror};
use sluice_cli::Args;
use sluice_core::{
    cache,
    output::report::open_log,
    request::{GZIP_KEY, KEYS, cache_settings, check_gzip, log_file},
};
use sluice_git::{environment::Environment, repository::Repository};

/// The columns of a name.
const NAME_WIDTH: usize = 16;
/// The start of the version that git-sluice prints, and of its usage as a server.
const VERSION: &[u8] = b"git-sluice ";
const SERVER: &[u8] = b"Serve 'git archive --remote'";
/// A format that only git-sluice has, and a request of a client for all formats.
const OWN_FORMAT: &str = "tar.zst";
const FORMATS_REQUEST: &[u8] = b"0013argument --list0000";
/// Why git writes the archives of a server.
const MISSING: &str = "git, because git-sluice is missing or does not start";

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

/// The report about the stand-in in `directory`, a line for each part, and whether all parts are used. Programs are
/// searched in `paths`, the `PATH` of the caller.
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
        web_server(&file, repository),
        other_commands(&file),
        within_git(&file),
        shared(environment, repository),
        log(environment, repository),
    ];
    parts.extend(configuration(&file, environment, repository));
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
    // Hooks and aliases have the programs of git first.
    let mut named = env::split_paths(paths).map(|directory| directory.join(NAME));
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
    const NAME_OF_PART: &str = "archive";
    let version = |words: &[&str]| {
        let answer = ask(file, words);
        answer.filter(|answer| answer.stdout.starts_with(VERSION))
    };
    let Some(answer) = version(&["archive", "--version"]) else {
        return CheckedPart::failing(NAME_OF_PART, MISSING);
    };
    match version(&["-C", ".", "archive", "--version"]) {
        Some(_) => CheckedPart::in_force(NAME_OF_PART, answer.stdout.trim_end()),
        None => CheckedPart::failing(
            NAME_OF_PART,
            "git for 'git -C', because the directory of the stand-in was moved",
        ),
    }
}

fn server(file: &Path) -> CheckedPart {
    let answer = ask(file, &["upload-archive", "-h"]);
    if answer.is_some_and(|answer| answer.stdout.starts_with(SERVER)) {
        CheckedPart::in_force("upload-archive", "git-sluice")
    } else {
        CheckedPart::failing("upload-archive", MISSING)
    }
}

/// The server of archives over HTTP, asked as a web server asks for a user that it knows.
fn web_server(file: &Path, repository: Option<&Repository>) -> CheckedPart {
    const NAME_OF_PART: &str = "http-backend";
    let Some(repository) = repository else {
        return CheckedPart::in_force(NAME_OF_PART, "unknown outside of a repository");
    };
    let mut command = Command::new(file);
    command
        .args(["-c", "tar.tar.zst.remote=true", "http-backend"])
        .env("REQUEST_METHOD", "POST")
        .env(
            "PATH_TRANSLATED",
            repository.git_dir.join("git-upload-archive"),
        )
        .env("CONTENT_TYPE", "application/x-git-upload-archive-request")
        .env("CONTENT_LENGTH", FORMATS_REQUEST.len().to_string())
        .env("REMOTE_USER", "check")
        .env("GIT_HTTP_EXPORT_ALL", "")
        .env_remove("HTTP_CONTENT_ENCODING");
    let answer = converse(&mut command, FORMATS_REQUEST).unwrap_or_default();
    if answer.contains_str(OWN_FORMAT) {
        CheckedPart::in_force(NAME_OF_PART, "git-sluice")
    } else if answer.contains_str("0008ACK") {
        let state = format!("{MISSING}, or because the directory of the stand-in was moved");
        CheckedPart::failing(NAME_OF_PART, state)
    } else if answer.starts_with(b"Status: 403") {
        CheckedPart::in_force(NAME_OF_PART, "no archives, because of http.uploadarchive")
    } else {
        CheckedPart::in_force(NAME_OF_PART, "no archives, which git serves since 2.44")
    }
}

/// What `command` answers to `input`.
fn converse(command: &mut Command, input: &[u8]) -> io::Result<Vec<u8>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take();
    // A server that refuses the request does not read it.
    let _ = stdin.as_mut().map(|stdin| stdin.write_all(input));
    drop(stdin);
    Ok(child.wait_with_output()?.stdout)
}

/// What aliases, hooks and programs named `git-…` run as `git`.
fn within_git(file: &Path) -> CheckedPart {
    const NAME_OF_PART: &str = "within git";
    let words = [
        "-c",
        "alias.sluice-check=!git archive --list",
        "sluice-check",
    ];
    let answer = ask(file, &words).map(|answer| answer.stdout);
    let state = if answer.is_some_and(|formats| formats.contains_str(OWN_FORMAT)) {
        "git-sluice"
    } else {
        "git, because git puts its own programs first for aliases, hooks and 'git <name>'"
    };
    CheckedPart::in_force(NAME_OF_PART, state)
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
    let file = match log_file(environment, repository) {
        Ok(Some(file)) => file,
        Ok(None) => return CheckedPart::in_force(NAME_OF_PART, "none"),
        Err(error) => return CheckedPart::failing(NAME_OF_PART, error.message()),
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
fn configuration(
    file: &Path,
    environment: &Environment,
    repository: Option<&Repository>,
) -> Vec<CheckedPart> {
    const NAME_OF_PART: &str = "configuration";
    let words = ["config", "--show-origin", "--get-regexp", r"^sluice\."];
    let keys = ask(file, &words).map(|answer| answer.stdout);
    let keys = keys.unwrap_or_default();
    if keys.is_empty() {
        return vec![CheckedPart::in_force(NAME_OF_PART, "no key of git-sluice")];
    }
    let part = |line: &[u8]| {
        let (_, setting) = line.split_once_str("\t").unwrap_or_default();
        let key = setting.split_str(" ").next().unwrap_or_default();
        let line = line.replace("\t", " ");
        match fault(key, environment, repository) {
            None => CheckedPart::in_force(NAME_OF_PART, line),
            Some(fault) => {
                CheckedPart::failing(NAME_OF_PART, format_bytes("{}: {}", &[&line, &fault]))
            }
        }
    };
    keys.lines().map(part).collect()
}

/// Whether git-sluice knows `key`, or a key of a URL.
fn is_key(key: &[u8]) -> bool {
    let lower = key.to_ascii_lowercase();
    let is_known = |known: &&str| known.as_bytes().eq_ignore_ascii_case(key);
    KEYS.iter().any(is_known) || lower.ends_with(b".submodulepath")
}

/// Why git-sluice cannot use the `key` of the configuration. The lines about the cache and the log report other faults of theirs.
fn fault(
    key: &[u8],
    environment: &Environment,
    repository: Option<&Repository>,
) -> Option<BString> {
    if !is_key(key) {
        return Some("not a key of git-sluice".into());
    }
    let is_about_gzip = key.eq_ignore_ascii_case(GZIP_KEY.as_bytes());
    let repository = repository.filter(|_| is_about_gzip)?;
    let error = check_gzip(repository, environment).err()?;
    Some(error.message().into())
}

fn path_bytes(path: &Path) -> BString {
    path.as_os_str().as_bytes().into()
}
