//! Measures one format at one latency: both programs in turn, each run on a separate mirror.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::counts::Counts;
use super::mount::{Behavior, Mirror};
use super::program::{Commands, Program};
use crate::measure::compare::equality::{Outcome, compare};
use crate::measure::median::median;
use crate::process;

/// A format that was measured at one latency.
pub(super) struct Trial {
    pub(super) format: String,
    pub(super) latency: Duration,
    pub(super) git: Side,
    pub(super) sluice: Side,
}

/// The runs of one program.
#[derive(Default)]
pub(super) struct Side {
    pub(super) wall_ms: Vec<f64>,
    pub(super) counts: Vec<Counts>,
}

impl Side {
    pub(super) fn median_ms(&self) -> f64 {
        median(self.wall_ms.iter().copied())
    }

    pub(super) fn median_counts(&self) -> Counts {
        Counts::median(&self.counts)
    }
}

impl Trial {
    /// Measures `rounds` rounds. The programs take turns at going first.
    pub(super) fn run(
        mirror: &Mirror,
        commands: &Commands,
        format: &str,
        repository: &Path,
        latency: Duration,
        rounds: u32,
    ) -> Result<Self> {
        let mut trial = Self {
            format: format.to_owned(),
            latency,
            git: Side::default(),
            sluice: Side::default(),
        };
        let mut order = Program::ALL;
        for _ in 0..rounds {
            for program in order {
                let behavior = Behavior {
                    latency,
                    ..Behavior::default()
                };
                let mount = mirror.mount(repository, behavior)?;
                let mut command = commands.command(program, format, mount.path());
                let wall_ms = time(&mut command)?;
                let side = trial.side(program);
                side.wall_ms.push(wall_ms);
                side.counts.push(mount.finish()?);
            }
            order.reverse();
        }
        Ok(trial)
    }

    fn side(&mut self, program: Program) -> &mut Side {
        match program {
            Program::Git => &mut self.git,
            Program::Sluice => &mut self.sluice,
        }
    }

    pub(super) fn ratio(&self) -> f64 {
        self.sluice.median_ms() / self.git.median_ms()
    }
}

/// Milliseconds of a run that writes to `/dev/null`.
fn time(command: &mut Command) -> Result<f64> {
    let started = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("could not start {command:?}"))?;
    let wall_ms = started.elapsed().as_secs_f64() * 1e3;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(wall_ms)
}

/// Fails unless both programs write the same bytes on a mirror.
pub(super) fn check_bytes(
    mirror: &Mirror,
    commands: &Commands,
    format: &str,
    repository: &Path,
) -> Result<()> {
    let mount = mirror.mount(repository, Behavior::default())?;
    let [expected, ours] = Program::ALL
        .map(|program| process::quiet(&mut commands.command(program, format, mount.path())));
    let (expected, ours) = (expected?, ours?);
    match compare(&mut expected.as_slice(), &mut ours.as_slice())? {
        Outcome::Equal { bytes } => ensure!(bytes > 0, "the {format} is empty"),
        Outcome::Different { offset } => {
            anyhow::bail!("the bytes of the {format} differ from byte {offset} on");
        }
    }
    mount.finish()?;
    Ok(())
}

#[cfg(test)]
impl Trial {
    /// A trial of one round.
    pub(super) fn fake(latency_ms: u64, git: (f64, Counts), sluice: (f64, Counts)) -> Self {
        let side = |(wall_ms, counts)| Side {
            wall_ms: vec![wall_ms],
            counts: vec![counts],
        };
        Self {
            format: "tar".to_owned(),
            latency: Duration::from_millis(latency_ms),
            git: side(git),
            sluice: side(sluice),
        }
    }
}
