//! What is seen of a run from outside: when its first byte comes out of a pipe, and its peak memory, read
//! from `/proc` while it runs (Linux only).
//!
//! Two figures, since they say different things: resident memory counts the pages of mapped packs,
//! which the kernel can take back at any time; anonymous memory is what the program asked for.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::contender::{Contender, Measured, Sink};
use crate::scratch;

/// Of all runs of a command.
#[derive(Default, Clone, Copy)]
pub(super) struct Watched {
    /// Highest values seen, in KiB; both stay 0 where there is no `/proc`.
    pub(super) resident: u64,
    pub(super) anonymous: u64,
    /// From the start to the first byte, at least; nothing where nobody sees it.
    pub(super) first_byte: Option<Duration>,
}

/// A peak may fall between two looks, so each command runs more than once.
const RUNS: u32 = 3;

/// Time between two looks: short, since a small archive takes two milliseconds.
const PAUSE: Duration = Duration::from_micros(200);

/// Runs each contender with each sink.
pub(super) fn measure(
    contenders: &[Contender],
    directory: &Path,
    sinks: &[Sink],
) -> Result<Measured<Watched>> {
    eprintln!("watching memory and first bytes");
    let mut measured = Vec::new();
    for &sink in sinks {
        let files = scratch::directory()?;
        let mut all = Vec::new();
        for (number, contender) in contenders.iter().enumerate() {
            let contender = contender.writing_to(sink, number, files.path());
            let mut watched = Watched::default();
            for _ in 0..RUNS {
                watch_run(&contender, sink, directory, &mut watched)?;
            }
            all.push(watched);
        }
        measured.push((sink, all));
    }
    Ok(measured)
}

fn watch_run(
    contender: &Contender,
    sink: Sink,
    directory: &Path,
    watched: &mut Watched,
) -> Result<()> {
    let stdout = match sink {
        Sink::Null | Sink::File => Stdio::null(),
        Sink::Pipe => Stdio::piped(),
    };
    let mut command = contender.command(directory);
    let started = Instant::now();
    let mut child = command
        .stdout(stdout)
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let reader = child
        .stdout
        .take()
        .map(|stdout| thread::spawn(move || first_byte(stdout, started)));
    let status_file = format!("/proc/{}/status", child.id());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Ok(text) = fs::read_to_string(&status_file) {
            watched.resident = watched.resident.max(kibibytes(&text, "VmHWM:"));
            watched.anonymous = watched.anonymous.max(kibibytes(&text, "RssAnon:"));
        }
        thread::sleep(PAUSE);
    };
    if let Some(reader) = reader {
        let took = reader.join().expect("reading does not panic")?;
        watched.first_byte = Some(watched.first_byte.map_or(took, |least| least.min(took)));
    }
    ensure!(status.success(), "`{}` failed: {status}", contender.label);
    Ok(())
}

/// How long after `started` the first byte came; all others are read as well.
fn first_byte(mut stdout: ChildStdout, started: Instant) -> io::Result<Duration> {
    stdout.read_exact(&mut [0])?;
    let took = started.elapsed();
    io::copy(&mut stdout, &mut io::sink())?;
    Ok(took)
}

/// The value of a line of `/proc/<id>/status`, such as `RssAnon:      1234 kB`; 0 once the process has let go of its memory.
fn kibibytes(status: &str, key: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(key));
    value
        .and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::kibibytes;

    #[test]
    fn a_status_file_is_read() {
        let status = "Name:\tgit\nVmHWM:\t   20480 kB\nRssAnon:\t    512 kB\n";
        assert_eq!(kibibytes(status, "VmHWM:"), 20480);
        assert_eq!(kibibytes(status, "RssAnon:"), 512);
        assert_eq!(kibibytes("Name:\tgit\nState:\tZ (zombie)\n", "VmHWM:"), 0);
    }
}
