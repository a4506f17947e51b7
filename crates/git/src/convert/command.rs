//! Starts filters, and reports filters that fail to start or end with an error.

use std::{
    io::ErrorKind,
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus, Stdio},
};

use bstr::BStr;

use super::log::say;
use crate::command::{CommandContext, death};
use sluice_base::{
    buffer::Buffer,
    error::{format_bytes, strerror},
};

/// Start `command` with pipes to its standard input and from its standard output. `None`, with a line in
/// `log`, if it cannot be started.
pub(super) fn start(context: &CommandContext, command: &BStr, log: &mut Buffer) -> Option<Child> {
    let error = match context.start(command, || Ok(Stdio::piped())) {
        Ok(child) => return Some(child),
        Err(error) => error,
    };
    let why = strerror(&error);
    match error.kind() {
        ErrorKind::NotFound if !command.contains(&b'/') => say(
            log,
            format_bytes("error: cannot run {}: {}", &[command, why.as_bytes()]),
        ),
        _ => say(
            log,
            format_bytes("fatal: cannot exec '{}': {}", &[command, why.as_bytes()]),
        ),
    }
    None
}

/// The exit status of `command`, as a shell computes it. Most deaths by a signal are logged.
pub(super) fn status(command: &BStr, status: ExitStatus, log: &mut Buffer) -> i32 {
    if let Some(line) = death(command, status) {
        say(log, &line);
    }
    let of_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(of_signal).unwrap_or(-1)
}
