//! How filters are started, and what is said of those that do not start or do not end well.

use std::{
    io::ErrorKind,
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus, Stdio},
};

use gix::bstr::BStr;
use rustix::process::Signal;

use super::say;
use crate::{buffer::Buffer, command::Surroundings, error::strerror};

/// Start `command` with pipes to its standard input and from its standard output; nothing, and a
/// line in `log`, if it cannot be.
pub(super) fn start(
    surroundings: &Surroundings,
    command: &BStr,
    log: &mut Buffer,
) -> Option<Child> {
    let error = match surroundings.start(command, || Ok(Stdio::piped())) {
        Ok(child) => return Some(child),
        Err(error) => error,
    };
    let why = strerror(&error);
    match error.kind() {
        ErrorKind::NotFound => say(log, &format!("error: cannot run {command}: {why}")),
        _ => say(log, &format!("fatal: cannot exec '{command}': {why}")),
    }
    None
}

/// The status of `command` as a shell has it. A death by signal is told, unless it was one that
/// people send, or by which pipes end.
pub(super) fn status(command: &BStr, status: ExitStatus, log: &mut Buffer) -> i32 {
    let Some(signal) = status.signal() else {
        return status.code().unwrap_or(-1);
    };
    let quiet = [Signal::INT, Signal::QUIT, Signal::PIPE];
    if !quiet.iter().any(|quiet| quiet.as_raw() == signal) {
        say(log, &format!("error: {command} died of signal {signal}"));
    }
    128 + signal
}
