//! Runs one case at one latency: both programs in turn, each run on a mirror of its own.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::case::{Case, Commands, Program};
use super::counts::Counts;
use super::mount::{Behavior, Mirror};
use crate::measure::compare::equality::{Outcome, compare};
use crate::median::median;
use crate::process;

/// A case that was measured.
pub(super) struct Trial {
    pub(super) case: Case,
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
        case: &Case,
        repository: &Path,
        latency: Duration,
        rounds: u32,
    ) -> Result<Self> {
        let mut trial = Self {
            case: case.clone(),
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
                let mut command = commands.command(case, program, mount.path());
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

/// Fails unless git-sluice writes the right bytes on a mirror: those of git on the mirror or, for a delta, its own on the
/// repository.
pub(super) fn check_bytes(
    mirror: &Mirror,
    commands: &Commands,
    case: &Case,
    repository: &Path,
) -> Result<()> {
    let mount = mirror.mount(repository, Behavior::default())?;
    let (program, directory) = if case.has_equal_bytes() {
        (Program::Git, mount.path())
    } else {
        (Program::Sluice, repository)
    };
    let expected = process::quiet(&mut commands.command(case, program, directory))?;
    let ours = process::quiet(&mut commands.command(case, Program::Sluice, mount.path()))?;
    match compare(&mut expected.as_slice(), &mut ours.as_slice())? {
        Outcome::Equal { bytes } => ensure!(bytes > 0, "`{}` is empty", case.name()),
        Outcome::Different { offset } => {
            anyhow::bail!(
                "the bytes of `{}` differ from byte {offset} on",
                case.name()
            );
        }
    }
    mount.finish()?;
    Ok(())
}

#[cfg(test)]
impl Trial {
    /// A trial of one round.
    pub(super) fn fake(
        case: Case,
        latency_ms: u64,
        git: (f64, Counts),
        sluice: (f64, Counts),
    ) -> Self {
        let side = |(wall_ms, counts)| Side {
            wall_ms: vec![wall_ms],
            counts: vec![counts],
        };
        Self {
            case,
            latency: Duration::from_millis(latency_ms),
            git: side(git),
            sluice: side(sluice),
        }
    }
}
