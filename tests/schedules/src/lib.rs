//! Files of git-sluice, compiled with threads of [shuttle](https://docs.rs/shuttle), so that a test can run them in many orders.
//! A run in which all threads wait for each other fails.
//!
//! Only what the files import is replaced: threads, channels, locks, errors, and the steps of the directory of the cache.

// What the files import, by the same name.
extern crate self as sluice_base;

pub mod cache;
pub mod error;
mod io;
#[path = "../../../crates/base/src/pipeline/mod.rs"]
pub mod pipeline;
pub mod process;
mod sync;
#[cfg(test)]
#[path = "../../../crates/base/src/temporary.rs"]
mod temporary;
mod threads;

use shuttle::{
    Config, PortfolioRunner,
    scheduler::{PctScheduler, RandomScheduler},
};

/// The stack of a thread: the system's calls need more than shuttle gives.
const STACK_BYTES: usize = 256 << 10;

/// Runs `check` in so many random schedules, and in as many that prefer some threads over others.
pub fn explore(schedules: usize, check: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    let mut runner = PortfolioRunner::new(true, config);
    runner.add(RandomScheduler::new(schedules));
    runner.add(PctScheduler::new(3, schedules));
    runner.run(check);
}
