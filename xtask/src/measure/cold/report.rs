//! The tables of `cold`: times, then the requests that explain them.

use std::fmt::Write as _;

use super::counts::Counts;
use super::latency;
use super::program::Program;
use super::trial::Trial;

/// Wall times.
pub(super) fn times(trials: &[Trial]) -> String {
    let mut table = String::from(
        "| format | latency | git ms | git-sluice ms | ratio |\n|---|--:|--:|--:|--:|\n",
    );
    for trial in trials {
        let row = format!(
            "| `{}` | {} | {:.0} | {:.0} | {:.2} |",
            trial.format,
            latency::format(trial.latency),
            trial.git.median_ms(),
            trial.sluice.median_ms(),
            trial.ratio(),
        );
        writeln!(table, "{row}").expect("a string takes every write");
    }
    table
}

/// Requests for names and attributes, reads, bytes, and the largest number of requests at once.
pub(super) fn requests(trials: &[Trial]) -> String {
    let mut table = String::from(
        "| run | metadata: lookup + getattr + open + readdir + readlink | reads | MiB | in flight |\n\
         |---|--:|--:|--:|--:|\n",
    );
    for trial in trials {
        for program in Program::ALL {
            let side = match program {
                Program::Git => &trial.git,
                Program::Sluice => &trial.sluice,
            };
            let counts = side.median_counts();
            let row = format!(
                "| `{}`, {}, {} | {} | {} | {:.1} | {} |",
                trial.format,
                latency::format(trial.latency),
                program.name(),
                metadata(&counts),
                counts.read,
                counts.read_bytes as f64 / f64::from(1 << 20),
                counts.max_in_flight,
            );
            writeln!(table, "{row}").expect("a string takes every write");
        }
    }
    table
}

/// The sum of the requests that are no reads, and its parts.
fn metadata(counts: &Counts) -> String {
    let parts = counts.metadata();
    let sum: u64 = parts.iter().sum();
    format!("{sum}: {}", parts.map(|part| part.to_string()).join(" + "))
}

#[cfg(test)]
mod tests {
    use super::super::counts::Counts;
    use super::super::trial::Trial;
    use super::{requests, times};

    #[test]
    fn a_trial_is_a_row_of_times_and_two_rows_of_requests() {
        let counts = |reads| Counts {
            lookup: 12,
            getattr: 3,
            open: 4,
            readdir: 2,
            readlink: 0,
            read: reads,
            read_bytes: 3 << 19,
            max_in_flight: 7,
        };
        let trials = [Trial::fake(5, (2000.0, counts(40)), (500.0, counts(20)))];
        assert_eq!(
            times(&trials),
            "| format | latency | git ms | git-sluice ms | ratio |\n\
             |---|--:|--:|--:|--:|\n\
             | `tar` | 5 ms | 2000 | 500 | 0.25 |\n"
        );
        assert_eq!(
            requests(&trials),
            "| run | metadata: lookup + getattr + open + readdir + readlink | reads | MiB | in flight |\n\
             |---|--:|--:|--:|--:|\n\
             | `tar`, 5 ms, git | 21: 12 + 3 + 4 + 2 + 0 | 40 | 1.5 | 7 |\n\
             | `tar`, 5 ms, git-sluice | 21: 12 + 3 + 4 + 2 + 0 | 20 | 1.5 | 7 |\n"
        );
    }
}
