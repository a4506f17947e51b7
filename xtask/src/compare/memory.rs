//! Peak memory of a run, read from `/proc` while it runs; Linux only.
//!
//! Two figures, since they say different things: resident memory counts the pages of mapped packs,
//! which the kernel can take back at any time; anonymous memory is what the program asked for.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Contender, Measured, Sink};

/// Highest values seen, in KiB; both stay 0 where there is no `/proc`.
#[derive(Default, Clone, Copy)]
pub(super) struct Peak {
    pub(super) resident: u64,
    pub(super) anonymous: u64,
}

/// A peak may fall between two looks, so each command runs more than once.
const RUNS: u32 = 3;

/// Time between two looks: short, since a small archive takes two milliseconds.
const PAUSE: Duration = Duration::from_micros(200);

/// Runs each contender with each sink.
pub(super) fn measure(contenders: &[Contender], directory: &Path) -> Result<Measured<Peak>> {
    eprintln!("measuring memory");
    let mut measured = Vec::new();
    for sink in Sink::ALL {
        let mut peaks = Vec::new();
        for contender in contenders {
            let mut peak = Peak::default();
            for _ in 0..RUNS {
                watch_run(contender, sink, directory, &mut peak)?;
            }
            peaks.push(peak);
        }
        measured.push((sink, peaks));
    }
    Ok(measured)
}

fn watch_run(contender: &Contender, sink: Sink, directory: &Path, peak: &mut Peak) -> Result<()> {
    let stdout = match sink {
        Sink::Null => Stdio::null(),
        Sink::Pipe => Stdio::piped(),
    };
    let mut command = contender.command(directory);
    let mut child = command
        .stdout(stdout)
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let reader = child
        .stdout
        .take()
        .map(|mut stdout| thread::spawn(move || io::copy(&mut stdout, &mut io::sink())));
    let status_file = format!("/proc/{}/status", child.id());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Ok(text) = fs::read_to_string(&status_file) {
            peak.resident = peak.resident.max(kibibytes(&text, "VmHWM:"));
            peak.anonymous = peak.anonymous.max(kibibytes(&text, "RssAnon:"));
        }
        thread::sleep(PAUSE);
    };
    if let Some(reader) = reader {
        reader.join().expect("copying to nowhere does not panic")?;
    }
    ensure!(status.success(), "`{}` failed: {status}", contender.label);
    Ok(())
}

/// The value of a line such as `RssAnon:      1234 kB`; 0 once the process has let go of its memory.
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
