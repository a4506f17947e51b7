//! What was timed: samples, percentiles and medians.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Result;

use crate::process;

/// What takes milliseconds is run so many times as often.
pub(super) const SHORT: u32 = 10;

/// One delta that was archived.
#[derive(Debug)]
pub(super) struct Sample {
    /// The repository, and which of the commits to it; both from 1.
    pub(super) repository: u32,
    pub(super) commit: u32,
    pub(super) milliseconds: f64,
}

impl Sample {
    /// Whether it was the first access to its repository, which is not counted among the others.
    pub(super) fn warm_up(&self) -> bool {
        self.commit == 1
    }
}

/// Milliseconds in ascending order.
pub(super) struct Times(Vec<f64>);

impl FromIterator<f64> for Times {
    fn from_iter<I: IntoIterator<Item = f64>>(times: I) -> Self {
        let mut times = Vec::from_iter(times);
        times.sort_by(f64::total_cmp);
        Times(times)
    }
}

impl Times {
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The nearest rank: the smallest time that at least so many percent of the times do not exceed, and
    /// so always one that was measured. None of no times.
    pub(super) fn percentile(&self, percent: usize) -> Option<f64> {
        let rank = (percent * self.count()).div_ceil(100).max(1);
        self.0.get(rank - 1).copied()
    }
}

/// The median of each command, in milliseconds.
pub(super) fn medians(commands: &mut [Command], rounds: u32) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); commands.len()];
    // The first round warms the caches.
    for round in 0..=rounds {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            command.stdout(Stdio::null());
            let start = Instant::now();
            process::run(command)?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
    let median = |times: Vec<f64>| {
        Times::from_iter(times)
            .percentile(50)
            .expect("rounds are at least one")
    };
    Ok(times.into_iter().map(median).collect())
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let times: Times = [15.0, 50.0, 20.0, 40.0, 35.0].into_iter().collect();
        let ranks = [0, 5, 30, 40, 50, 90, 100].map(|percent| times.percentile(percent));
        let expected = [15.0, 15.0, 20.0, 20.0, 35.0, 50.0, 50.0].map(Some);
        assert_eq!(ranks, expected);

        let hundred: Times = (1..=100).rev().map(f64::from).collect();
        let ranks = [50, 90, 99].map(|percent| hundred.percentile(percent));
        assert_eq!(ranks, [50.0, 90.0, 99.0].map(Some));

        let one: Times = [7.0].into_iter().collect();
        assert_eq!(one.percentile(99), Some(7.0));
        assert_eq!(Times::from_iter([]).percentile(50), None);
    }
}
