//! What the cache must reach.

use super::contender::{Cache, Contender, Producer};
use super::trial::{Row, Trial};
use crate::median::median;

pub(super) struct Bar {
    what: &'static str,
    measured: f64,
    at_most: f64,
}

impl Bar {
    /// A figure that is no number misses the bar.
    pub(super) fn is_missed(&self) -> bool {
        !matches!(self.measured.partial_cmp(&self.at_most), Some(order) if order.is_le())
    }
}

pub(super) fn of(trial: &Trial) -> Vec<Bar> {
    let (git, without) = (&trial.many[0], &trial.single[0]);
    let cold_cpu = if trial.format == "tar" { 0.05 } else { 0.06 };
    let bar = |what, measured, at_most| Bar {
        what,
        measured,
        at_most,
    };
    vec![
        bar(
            "cold cache: CPU time / that of git archive",
            sluice(&trial.many, Cache::Cold).ratio(git, |turn| turn.cpu_ms),
            cold_cpu,
        ),
        bar(
            "cold cache: wall time / that of git archive",
            sluice(&trial.many, Cache::Cold).ratio(git, |turn| turn.wall_ms),
            0.16,
        ),
        bar(
            "a client that starts while the archive is made: its first byte, ms",
            median(trial.follower_ms.iter().copied()),
            20.0,
        ),
        bar(
            "warm cache: CPU time / that of git archive",
            sluice(&trial.many, Cache::Warm).ratio(git, |turn| turn.cpu_ms),
            0.03,
        ),
        bar(
            "one client, cold cache: wall time / that without a cache",
            sluice(&trial.single, Cache::Cold).ratio(without, |turn| turn.wall_ms),
            1.25,
        ),
        bar(
            "one client, warm cache: wall time / that without a cache",
            sluice(&trial.single, Cache::Warm).ratio(without, |turn| turn.wall_ms),
            0.25,
        ),
    ]
}

fn sluice(rows: &[Row], cache: Cache) -> &Row {
    let contender = Contender {
        producer: Producer::Sluice,
        cache,
    };
    let row = rows.iter().find(|row| row.contender == contender);
    row.expect("git-sluice has a row for each cache")
}

pub(super) fn table(bars: &[Bar]) -> String {
    let mut table = String::from("| bar | measured | at most | |\n|---|--:|--:|---|\n");
    for bar in bars {
        let verdict = if bar.is_missed() { "missed" } else { "met" };
        table += &format!(
            "| {} | {:.3} | {} | {verdict} |\n",
            bar.what, bar.measured, bar.at_most
        );
    }
    table
}
