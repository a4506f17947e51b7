//! Runs a filter that is started for each file: content on its standard input, the result on its standard
//! output.

use std::{
    io::{self, Read, Write},
    process::Child,
    thread,
};

use bstr::{BStr, BString, ByteSlice};

use super::{command, log::say};
use crate::command::CommandContext;
use sluice_base::{buffer::Buffer, error::format_bytes};

/// Let `command` convert `content`. `None`, with lines in `log`, if it fails.
pub(super) fn smudge(
    context: &CommandContext,
    command: &BStr,
    path: &BStr,
    content: &[u8],
    log: &mut Buffer,
) -> Option<Vec<u8>> {
    let filtered = run(context, command, path, content, log);
    if filtered.is_none() {
        say(
            log,
            format_bytes("error: external filter '{}' failed", &[command]),
        );
    }
    filtered
}

fn run(
    context: &CommandContext,
    command: &BStr,
    path: &BStr,
    content: &[u8],
    log: &mut Buffer,
) -> Option<Vec<u8>> {
    let expanded = expand(command, path);
    let Some(mut child) = command::start(context, expanded.as_bstr(), log) else {
        say(
            log,
            format_bytes("error: cannot fork to run external filter '{}'", &[command]),
        );
        return None;
    };
    let exchanged = exchange(&mut child, content);
    let status = child.wait().ok()?;
    let (fed, filtered) = exchanged.ok()?;
    if !fed {
        say(
            log,
            format_bytes(
                "error: cannot feed the input to external filter '{}'",
                &[command],
            ),
        );
    }
    match command::status(expanded.as_bstr(), status, log) {
        0 if fed => Some(filtered),
        0 => None,
        failed => {
            say(
                log,
                format_bytes(
                    "error: external filter '{}' failed {}",
                    &[command, failed.to_string().as_bytes()],
                ),
            );
            None
        }
    }
}

/// Feed `child` and read its output at the same time, since either could block alone. Returns whether
/// `child` was fed, and its output.
fn exchange(child: &mut Child, content: &[u8]) -> io::Result<(bool, Vec<u8>)> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    thread::scope(|scope| {
        let feeder = thread::Builder::new().spawn_scoped(scope, move || match stdin {
            Some(mut stdin) => stdin.write_all(content),
            None => Ok(()),
        });
        let mut filtered = Vec::with_capacity(content.len());
        if let Some(mut stdout) = stdout {
            stdout.read_to_end(&mut filtered)?;
        }
        let fed = match feeder?.join() {
            Ok(Ok(())) => true,
            // A filter need not read all of its input.
            Ok(Err(error)) => error.kind() == io::ErrorKind::BrokenPipe,
            Err(_) => false,
        };
        Ok((fed, filtered))
    })
}

/// Replace each `%f` by the path, quoted for the shell.
fn expand(command: &BStr, path: &BStr) -> BString {
    let mut expanded = BString::default();
    let mut rest: &[u8] = command;
    while let Some(at) = rest.find_byte(b'%') {
        expanded.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.first() {
            Some(b'f') => expanded.extend_from_slice(&gix_quote::single(path)),
            Some(b'%') => expanded.push(b'%'),
            _ => {
                expanded.push(b'%');
                continue;
            }
        }
        rest = &rest[1..];
    }
    expanded.extend_from_slice(rest);
    expanded
}
