//! What git-sluice must reach on slow storage, by repository, case and latency.

use std::fmt::Write as _;

use super::latency;
use super::trial::Trial;

/// The name of the repository that `--one-file` makes.
pub(super) const ONE_FILE: &str = "one-file";

/// Repository, case, latency in milliseconds, and the largest ratio of wall times.
const RATIOS: [(&str, &str, u128, f64); 8] = [
    ("git", "tar", 1, 0.25),
    ("rails", "tar", 1, 0.25),
    ("u-boot", "tar", 1, 0.30),
    ("git", "tar", 5, 0.12),
    ("rails", "tar", 5, 0.12),
    ("git", "-- Documentation", 5, 0.5),
    ("git", "tar.gz", 5, 0.35),
    (ONE_FILE, "--base", 5, 1.0),
];

/// Repository, case, commit, and the bytes that git-sluice read before it read ahead.
const READ_BYTES: [(&str, &str, &str, u64); 5] = [
    (
        "git",
        "tar",
        "1a3e64c6c4a623626ff0687008732a8e007e2a1c",
        40_522_299,
    ),
    (
        "git",
        "tar.gz",
        "1a3e64c6c4a623626ff0687008732a8e007e2a1c",
        40_522_299,
    ),
    (
        "git",
        "-- Documentation",
        "1a3e64c6c4a623626ff0687008732a8e007e2a1c",
        24_527_419,
    ),
    (
        "rails",
        "tar",
        "2a2db1e8d6d104ee0611efcae7eb023af65cff34",
        49_167_122,
    ),
    (
        ONE_FILE,
        "--base",
        "7f62e0c7cf6117134a8648532318655289c44254",
        5_225_384,
    ),
];

/// A bar that belongs to a trial.
pub(super) struct Bar {
    what: String,
    measured: f64,
    at_most: f64,
}

impl Bar {
    /// A figure that is no number misses the bar.
    pub(super) fn is_missed(&self) -> bool {
        !matches!(self.measured.partial_cmp(&self.at_most), Some(order) if order.is_le())
    }
}

/// The bars of a repository that was measured at `commit`.
pub(super) fn of(repository: &str, commit: &str, trials: &[Trial]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for trial in trials {
        let case = trial.case.name();
        let bar = |what: &str, measured, at_most| Bar {
            what: format!("`{case}`, {}: {what}", latency::format(trial.latency)),
            measured,
            at_most,
        };
        for (name, of_case, ms, at_most) in RATIOS {
            if (name, of_case, ms * 1000) == (repository, &case, trial.latency.as_micros()) {
                bars.push(bar("wall time / that of git", trial.ratio(), at_most));
            }
        }
        for (name, of_case, at_commit, before) in READ_BYTES {
            if (name, of_case) == (repository, &case) && commit == at_commit {
                let read = trial.sluice.median_counts().read_bytes as f64;
                let ratio = read / before as f64;
                bars.push(bar("bytes read / those without reading ahead", ratio, 1.10));
            }
        }
    }
    bars
}

pub(super) fn table(bars: &[Bar]) -> String {
    let mut table = String::from("| bar | measured | at most | |\n|---|--:|--:|---|\n");
    for bar in bars {
        let verdict = if bar.is_missed() { "missed" } else { "met" };
        let (what, measured, at_most) = (&bar.what, bar.measured, bar.at_most);
        writeln!(table, "| {what} | {measured:.2} | {at_most} | {verdict} |")
            .expect("a string takes every write");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::case::Case;
    use super::super::counts::Counts;
    use super::super::trial::Trial;
    use super::{of, table};

    fn trial(latency_ms: u64, sluice_ms: f64) -> Trial {
        let case = Case::Format("tar".to_owned());
        let counts = Counts::default();
        Trial::fake(case, latency_ms, (100.0, counts), (sluice_ms, counts))
    }

    #[test]
    fn a_bar_belongs_to_a_repository_a_case_and_a_latency() {
        let trials = [trial(1, 25.0), trial(2, 25.0), trial(5, 25.0)];
        assert_eq!(
            table(&of("rails", "", &trials)),
            "| bar | measured | at most | |\n\
             |---|--:|--:|---|\n\
             | `tar`, 1 ms: wall time / that of git | 0.25 | 0.25 | met |\n\
             | `tar`, 5 ms: wall time / that of git | 0.25 | 0.12 | missed |\n"
        );
        assert!(of("linux", "", &trials).is_empty());
    }

    #[test]
    fn bytes_are_compared_at_one_commit() {
        let mut trials = [trial(2, 25.0)];
        trials[0].sluice.counts[0].read_bytes = 60_000_000;
        let commit = "2a2db1e8d6d104ee0611efcae7eb023af65cff34";
        let bars = of("rails", commit, &trials);
        assert_eq!(bars.len(), 1);
        assert!(bars[0].is_missed());
        assert!(of("rails", "another", &trials).is_empty());
    }

    #[test]
    fn no_number_misses() {
        let bars = of("git", "", &[trial(1, f64::NAN)]);
        assert!(bars[0].is_missed());
    }
}
