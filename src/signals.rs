//! Signals that end the program. Unfinished files are removed first.
//!
//! A signal that the caller ignores (`nohup`, `trap '' INT`) stays ignored, as in programs without signal
//! handlers.

use std::{
    ffi::c_int,
    fs, io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{
        SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
    },
    flag::register_usize,
    iterator::Signals,
    low_level::emulate_default_handler,
};
use sluice_base::{
    error::{Error, Result},
    threads::Lock,
};
use sluice_core::output::Unfinished;

/// The signals from users, shells and timers, and the kernel's about a file that is too large and a run that takes too long.
const DEADLY: [c_int; 10] = [
    SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
];

/// Non-zero once a signal that ends the program has arrived.
static ARRIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The files that are removed at the end.
static UNFINISHED: Lock<Vec<Unfinished>> = Lock::new(Vec::new());
static WATCHING: Lock<bool> = Lock::new(false);

/// Remove the file when a signal ends the program. A batch has many files, several at a time.
pub(super) fn remove_on_death(unfinished: Unfinished) -> Result<()> {
    let mut files = UNFINISHED.lock();
    files.retain(Unfinished::is_used);
    files.push(unfinished);
    let mut is_watching = WATCHING.lock();
    if !*is_watching {
        watch()?;
        *is_watching = true;
    }
    Ok(())
}

fn watch() -> Result<()> {
    let failed = |error: io::Error| Error::fatal("cannot watch for signals").caused_by(error);
    let ignored = ignored();
    let deadly = DEADLY
        .into_iter()
        .filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(deadly.clone()).map_err(failed)?;
    thread::Builder::new()
        .spawn(move || signals.forever().for_each(die))
        .map_err(failed)?;
    // After the start of the thread that handles them, since [`await_death`] could otherwise wait forever.
    for signal in deadly {
        register_usize(signal, Arc::clone(&ARRIVED), 1).map_err(failed)?;
    }
    Ok(())
}

/// End the program by `signal`, even if the caller ignores it.
pub(super) fn die(signal: c_int) {
    let unfinished = UNFINISHED.lock().clone();
    let _removed: Vec<_> = unfinished.iter().map(Unfinished::remove).collect();
    let _ = emulate_default_handler(signal);
}

/// Let an arrived signal end the program, whatever has failed meanwhile: the signal may be the cause.
pub(super) fn await_death() {
    while ARRIVED.load(Ordering::SeqCst) != 0 {
        thread::park();
    }
}

/// The signals that were ignored when the program started, as bits. Zero if the system does not say.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
