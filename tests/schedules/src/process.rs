//! Processes that are threads, and that may die at any step.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

shuttle::thread_local! {
    /// The steps until the process of this thread dies, if it does.
    static STEPS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Why a thread unwinds whose process has died.
struct Died;

/// Runs `process`, which dies after so many steps; `None` if it died. The system then closes its files, as here.
pub fn run<T>(dies_after: Option<usize>, process: impl FnOnce() -> T) -> Option<T> {
    STEPS_LEFT.with(|left| left.set(dies_after));
    match catch_unwind(AssertUnwindSafe(process)) {
        Ok(outcome) => Some(outcome),
        Err(cause) if cause.is::<Died>() => None,
        Err(cause) => resume_unwind(cause),
    }
}

/// A point at which other processes may run, or this one may die.
pub fn step() {
    // Does not wait: only lets another thread run.
    shuttle::thread::sleep(Duration::ZERO);
    STEPS_LEFT.with(|left| match left.get() {
        None => {}
        Some(0) => resume_unwind(Box::new(Died)),
        Some(steps) => left.set(Some(steps - 1)),
    });
}
