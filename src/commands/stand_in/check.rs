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

/// What a part uses; an error is the reason why it does not use what it should.
type State = Result<BString, BString>;

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
        let refused = Error::fatal(format_bytes("'{}' is not a stand-in", &[path]));
        let directory = directory.as_os_str().as_bytes();
        return Err(refused.hinted_command("git sluice stand-in {}", &[directory]));
    }
    let mut parts = vec![
        ("PATH", first_in_path(&file, paths)),
        ("archive", archives(&file)),
        ("upload-archive", server(&file)),
        ("http-backend", web_server(&file, repository)),
        ("other commands", other_commands(&file)),
        ("within git", Ok(within_git(&file))),
        ("cache", shared(environment, repository)),
        ("log", log(environment, repository)),
    ];
    let keys = configuration(&file, environment, repository).into_iter();
    parts.extend(keys.map(|state| ("configuration", state)));
    let is_in_force = parts.iter().all(|(_, state)| state.is_ok());
    let mut report = BString::default();
    for (name, state) in parts {
        let (Ok(state) | Err(state)) = state;
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

fn first_in_path(file: &Path, paths: &OsStr) -> State {
    // Hooks and aliases have the programs of git first.
    let mut named = env::split_paths(paths).map(|directory| directory.join(NAME));
    let first = named.find(|path| is_program(path));
    match first {
        Some(first) if identity(&first) == identity(file) => Ok(path_bytes(&first)),
        Some(first) => {
            let path = path_bytes(&first);
            Err(format_bytes("another git comes first: {}", &[&path]))
        }
        None => Err("no git".into()),
    }
}

fn archives(file: &Path) -> State {
    let version = |words: &[&str]| {
        let answer = ask(file, words);
        answer.filter(|answer| answer.stdout.starts_with(VERSION))
    };
    let Some(answer) = version(&["archive", "--version"]) else {
        return Err(MISSING.into());
    };
    match version(&["-C", ".", "archive", "--version"]) {
        Some(_) => Ok(answer.stdout.trim_end().into()),
        None => Err("git for 'git -C', because the directory of the stand-in was moved".into()),
    }
}

fn server(file: &Path) -> State {
    let answer = ask(file, &["upload-archive", "-h"]);
    if answer.is_some_and(|answer| answer.stdout.starts_with(SERVER)) {
        Ok("git-sluice".into())
    } else {
        Err(MISSING.into())
    }
}

/// The server of archives over HTTP, asked as a web server asks for a user that it knows.
fn web_server(file: &Path, repository: Option<&Repository>) -> State {
    let Some(repository) = repository else {
        return Ok("unknown outside of a repository".into());
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
        Ok("git-sluice".into())
    } else if answer.contains_str("0008ACK") {
        let state = format!("{MISSING}, or because the directory of the stand-in was moved");
        Err(state.into())
    } else if answer.starts_with(b"Status: 403") {
        Ok("no archives, because of http.uploadarchive".into())
    } else {
        Ok("no archives, which git serves since 2.44".into())
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
fn within_git(file: &Path) -> BString {
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
    state.into()
}

fn other_commands(file: &Path) -> State {
    match ask(file, &["version"]) {
        Some(answer) if answer.status.success() => Ok(answer.stdout.trim_end().into()),
        Some(answer) => Err(answer.stderr.lines().next().unwrap_or_default().into()),
        None => Err("the stand-in does not start".into()),
    }
}

fn shared(environment: &Environment, repository: Option<&Repository>) -> State {
    let Some(repository) = repository else {
        return Ok("unknown outside of a repository".into());
    };
    match cache_settings(&Args::default(), environment, repository) {
        Ok(None) => Ok("none".into()),
        Ok(Some(settings)) => {
            let directory = path_bytes(&settings.directory);
            match cache::unusable(&settings) {
                None => Ok(directory),
                Some(reason) => {
                    let values = [&directory[..], reason.as_bytes()];
                    Err(format_bytes("{} is not used: {}", &values))
                }
            }
        }
        Err(error) => Err(error.message().into()),
    }
}

fn log(environment: &Environment, repository: Option<&Repository>) -> State {
    let file = match log_file(environment, repository) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok("none".into()),
        Err(error) => return Err(error.message().into()),
    };
    let path = path_bytes(&file);
    match open_log(&file) {
        Ok(_) => Ok(path),
        Err(error) => {
            let why = strerror(&error);
            let values = [&path[..], why.as_bytes()];
            Err(format_bytes("{} cannot be written: {}", &values))
        }
    }
}

/// The keys of the configuration, each with the file that it comes from.
fn configuration(
    file: &Path,
    environment: &Environment,
    repository: Option<&Repository>,
) -> Vec<State> {
    let words = ["config", "--show-origin", "--get-regexp", r"^sluice\."];
    let keys = ask(file, &words).map(|answer| answer.stdout);
    let keys = keys.unwrap_or_default();
    if keys.is_empty() {
        return vec![Ok("no key of git-sluice".into())];
    }
    let part = |line: &[u8]| {
        let (_, setting) = line.split_once_str("\t").unwrap_or_default();
        let key = setting.split_str(" ").next().unwrap_or_default();
        let line = line.replace("\t", " ");
        match fault(key, environment, repository) {
            None => Ok(line.into()),
            Some(fault) => Err(format_bytes("{}: {}", &[&line, &fault])),
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
