//! Signals that end the program. The half-written file goes first.
//!
//! A signal that the caller has ignored (`nohup`, `trap '' INT`) stays ignored, as for every program that
//! does not ask for signals.

use std::{
    ffi::c_int,
    fs, io,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use git_sluice::{
    error::{Error, Result},
    output::Unfinished,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ},
    flag::register_usize,
    iterator::Signals,
    low_level::emulate_default_handler,
};

/// What people and shells send, and what the kernel does to a file that becomes too large.
const DEADLY: [c_int; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ];

/// Not zero as soon as a signal has come that ends the program.
static ARRIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// What a death takes along.
static UNFINISHED: OnceLock<Unfinished> = OnceLock::new();

/// A signal that ends the program takes the file along.
pub(super) fn remove_on_death(unfinished: Unfinished) -> Result<()> {
    let failed = |error: io::Error| Error::fatal("cannot watch for signals").caused_by(error);
    let ignored = ignored();
    let deadly = DEADLY
        .into_iter()
        .filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(deadly.clone()).map_err(failed)?;
    let _ = UNFINISHED.set(unfinished);
    thread::spawn(move || signals.forever().for_each(die));
    // After the thread is there that dies of them, or the wait could have no end.
    for signal in deadly {
        register_usize(signal, Arc::clone(&ARRIVED), 1).map_err(failed)?;
    }
    Ok(())
}

/// End the program by `signal`, whatever the caller said about it.
pub(super) fn die(signal: c_int) {
    let _removed = UNFINISHED.get().map(Unfinished::remove);
    let _ = emulate_default_handler(signal);
}

/// If a signal has come, it ends the program, whatever failed meanwhile: perhaps because of it.
pub(super) fn await_death() {
    while ARRIVED.load(Ordering::SeqCst) != 0 {
        thread::park();
    }
}

/// The signals that the program was started without, a bit each; none where the system does not say.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
