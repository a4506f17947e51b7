//! What a process and all of its children take.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::measure::usage;

#[derive(Clone, Copy)]
pub(super) struct Usage {
    /// Seconds of all cores together.
    pub(super) cpu: f64,
    wall: f64,
    /// MiB of the largest process.
    peak: f64,
}

impl Usage {
    pub(super) const WORST: Self = Self {
        cpu: f64::INFINITY,
        wall: f64::INFINITY,
        peak: 0.0,
    };

    /// The shorter times, and the larger memory.
    pub(super) fn min(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.min(other.cpu),
            wall: self.wall.min(other.wall),
            peak: self.peak.max(other.peak),
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} / {:.2} / {:.0}", self.cpu, self.wall, self.peak)
    }
}

/// Runs a command in silence.
pub(super) fn measure(command: &mut Command) -> Result<Usage> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let (status, taken) = wait(child.id())?;
    ensure!(status == 0, "{command:?} failed: run it by hand to see why");
    Ok(Usage {
        cpu: usage::user_seconds(&taken) + usage::system_seconds(&taken),
        wall: started.elapsed().as_secs_f64(),
        peak: taken.ru_maxrss as f64 / 1024.0,
    })
}

/// Waits for a child, and returns what it and its own children took.
fn wait(id: u32) -> Result<(i32, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::uninit();
    // SAFETY: both pointers are valid, and the call fills what they point to.
    let waited = unsafe { libc::wait4(id.cast_signed(), &raw mut status, 0, usage.as_mut_ptr()) };
    ensure!(waited > 0, "wait4: {}", io::Error::last_os_error());
    // SAFETY: the call succeeded.
    Ok((status, unsafe { usage.assume_init() }))
}
