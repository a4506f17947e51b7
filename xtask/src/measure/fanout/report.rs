//! What was measured, as Markdown, CSV and a plot.

use super::contender::{Cache, Producer};
use super::trial::{Row, Trial};
use crate::median::median;
use crate::plot::{Line, Plot, Scale};

/// A table of many clients, and one of a single client.
pub(super) fn tables(trial: &Trial) -> String {
    format!(
        "`{}`: every client got {} bytes, those of `git archive`, and ended with status 0. The clients of the \
         servers are `git archive --remote`.\n\n{}\n{}\n{}",
        trial.format,
        trial.bytes,
        table(&trial.many),
        table(&trial.single),
        roles(trial),
    )
}

/// The ratios refer to the first row.
fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| clients | | cache | wall ms | wall ratio | CPU ms | CPU ratio | first byte ms, median client \
         | first byte ms, slowest client | MB written |\n\
         |--:|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        table += &format!(
            "| {} | {} | {} | {:.1} | {:.3} | {:.1} | {:.3} | {:.1} | {:.1} | {:.1} |\n",
            row.clients,
            row.contender.producer.name(),
            row.contender.cache.name(),
            row.median(|turn| turn.wall_ms),
            row.ratio(&rows[0], |turn| turn.wall_ms),
            row.median(|turn| turn.cpu_ms),
            row.ratio(&rows[0], |turn| turn.cpu_ms),
            row.median(|turn| turn.median_first_byte_ms()),
            row.median(|turn| turn.slowest_first_byte_ms()),
            row.median(|turn| turn.written_bytes as f64) / 1e6,
        );
    }
    table
}

/// What the clients said about the cache.
fn roles(trial: &Trial) -> String {
    let mut lines = String::new();
    let rows = trial.many.iter().chain(&trial.single);
    for row in rows.filter(|row| !row.roles.is_empty()) {
        let roles = row.roles.iter();
        let roles: Vec<_> = roles
            .map(|(role, count)| format!("{count} {role}"))
            .collect();
        lines += &format!(
            "* {} × {}: {}\n",
            row.clients,
            row.contender.name(),
            roles.join(", ")
        );
    }
    format!("Roles of the clients while the bytes were compared:\n\n{lines}\n")
}

/// A line for each turn.
pub(super) fn csv(trials: &[Trial]) -> String {
    let mut csv = String::from(
        "format,clients,producer,cache,round,wall_ms,cpu_ms,first_byte_median_ms,first_byte_slowest_ms,\
         bytes_each,bytes_written\n",
    );
    for trial in trials {
        for row in trial.many.iter().chain(&trial.single) {
            for (turn, round) in row.turns.iter().zip(1..) {
                csv += &format!(
                    "{},{},{},{},{round},{:.3},{:.3},{:.3},{:.3},{},{}\n",
                    trial.format,
                    row.clients,
                    row.contender.producer.name(),
                    row.contender.cache.name(),
                    turn.wall_ms,
                    turn.cpu_ms,
                    turn.median_first_byte_ms(),
                    turn.slowest_first_byte_ms(),
                    trial.bytes,
                    turn.written_bytes,
                );
            }
        }
    }
    csv
}

/// When the first client has its archive, and the second, and so on.
pub(super) fn plot(trial: &Trial) -> String {
    let plot = Plot {
        across: "clients that have the whole archive",
        scale: Scale::Linear,
        lines: trial.many.iter().map(line).collect(),
    };
    plot.svg()
}

fn line(row: &Row) -> Line {
    let nth_end = |nth: usize| median(row.turns.iter().map(|turn| turn.clients[nth].end_ms));
    Line {
        name: row.contender.name(),
        colour: match row.contender.producer {
            Producer::Git => "#888888",
            Producer::Sluice => "#2f6fd1",
            Producer::GitServer => "#333333",
            Producer::SluiceServer => "#d1742f",
        },
        dashes: match row.contender.cache {
            Cache::None => "",
            Cache::Cold => "6 3",
            Cache::Warm => "2 3",
        },
        points: (0..row.clients)
            .map(|nth| (f64::from(nth + 1), nth_end(nth as usize)))
            .collect(),
    }
}
