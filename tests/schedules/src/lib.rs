//! Files of git-sluice, compiled with threads of [shuttle](https://docs.rs/shuttle), so that a test can run them in many orders.
//! A run in which all threads wait for each other fails.
//!
//! Only what the files import is replaced: threads, channels, locks, errors, and the client of the cache.

/// What the files import, by the same names.
mod base {
    pub(crate) use crate::{error, sync, threads};
}
mod cache {
    pub(crate) use crate::client;
}
mod client;
pub mod error;
#[path = "../../../src/base/pipeline/mod.rs"]
pub mod pipeline;
#[path = "../../../src/cache/producer/sending.rs"]
mod sending;
pub mod sharing;
mod sync;
mod threads;

use shuttle::{
    Config, PortfolioRunner,
    scheduler::{PctScheduler, RandomScheduler},
};

/// Runs `check` in so many random schedules, and in as many that prefer some threads over others.
pub fn explore(schedules: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut runner = PortfolioRunner::new(true, Config::new());
    runner.add(RandomScheduler::new(schedules));
    runner.add(PctScheduler::new(3, schedules));
    runner.run(check);
}
