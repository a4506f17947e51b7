//! Shows the progress of a run: one line that overwrites itself, below the messages to the user.
//!
//! Each long task of a run has a [`Meter`], which knows how far the task is; the [`Console`] has the line. The thread of
//! the run draws, a first time after half a second and then at most ten times a second. Own code, since the crate
//! `indicatif` owns its terminal, wraps a line that is too long, and adds 150 KiB. Progress never affects the run.

mod console;
mod line;
mod meter;
mod rate;

pub use console::{Console, Terminal};
pub use meter::{Done, Meter, Total};
