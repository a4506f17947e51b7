//! Mounts a mirror for one run, by the program `cold-mirror` (`xtask/mirror`), and takes its counts afterwards.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::counts::Counts;
use crate::binary::{self, Workspace};
use crate::{process, scratch};

/// How a mirror differs from the directory that it shows.
#[derive(Clone, Copy, Default)]
pub(super) struct Behavior {
    /// The wait of a read. Requests for names and attributes wait a quarter of it.
    pub(super) latency: Duration,
    /// Reads after this number fail with `EIO`.
    pub(super) fail_after: Option<u64>,
}

/// The program that mirrors.
pub(super) struct Mirror {
    program: PathBuf,
}

impl Mirror {
    pub(super) fn build() -> Result<Self> {
        let mut cargo = binary::cargo();
        process::run(cargo.args(["build", "--quiet", "--release", "--package=cold-mirror"]))?;
        let target = Workspace::find()?.target;
        Ok(Self {
            program: target.join("release/cold-mirror"),
        })
    }

    /// Why mirrors cannot be mounted on this machine, if they cannot.
    pub(super) fn obstacle(&self) -> Option<String> {
        let attempt = || self.mount(Path::new("/"), Behavior::default())?.finish();
        attempt().err().map(|error| format!("{error:#}"))
    }

    pub(super) fn mount(&self, directory: &Path, behavior: Behavior) -> Result<Mount> {
        let point = scratch::directory()?;
        let mut command = Command::new(&self.program);
        command.arg(directory).arg(point.path());
        command.arg(behavior.latency.as_micros().to_string());
        command.args(behavior.fail_after.map(|reads| reads.to_string()));
        // A group of its own: Ctrl-C ends this process, and only then does the mirror unmount itself.
        command.process_group(0);
        let mut program = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let output = program.stdout.take().context("the output is a pipe")?;
        let mut mount = Mount {
            program,
            output: BufReader::new(output),
            point,
        };
        if mount.output.read_line(&mut String::new())? == 0 {
            bail!("{}", mount.message()?);
        }
        Ok(mount)
    }
}

/// A mounted mirror. Its page cache is empty at first.
pub(super) struct Mount {
    program: Child,
    output: BufReader<ChildStdout>,
    point: TempDir,
}

impl Mount {
    /// The directory that shows the mirror.
    pub(super) fn path(&self) -> &Path {
        self.point.path()
    }

    /// Unmounts the mirror and returns what was asked of it.
    pub(super) fn finish(mut self) -> Result<Counts> {
        drop(self.program.stdin.take());
        let mut counts = String::new();
        self.output.read_line(&mut counts)?;
        if counts.is_empty() {
            bail!("{}", self.message()?);
        }
        Counts::parse(&counts)
    }

    /// The message of a mirror that fails.
    fn message(&mut self) -> Result<String> {
        let mut message = String::new();
        if let Some(mut errors) = self.program.stderr.take() {
            errors.read_to_string(&mut message)?;
        }
        Ok(message.trim_end().to_owned())
    }
}

impl Drop for Mount {
    /// Waits until the mirror is unmounted, since the directory below it is removed next.
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        let _ = self.program.wait();
    }
}
