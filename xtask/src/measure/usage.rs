//! What processes took, as the system counts it.

use std::io;
use std::mem::MaybeUninit;

/// What all processes took that this one has waited for, with those that they have waited for.
pub(super) fn of_children() -> io::Result<libc::rusage> {
    let mut usage = MaybeUninit::zeroed();
    // SAFETY: the pointer leads to room for the structure, and zeros are a value of it.
    let (returned, usage) = unsafe {
        let returned = libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        (returned, usage.assume_init())
    };
    match returned {
        0 => Ok(usage),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The time in the program, in seconds of all cores together.
pub(super) fn user_seconds(usage: &libc::rusage) -> f64 {
    seconds(usage.ru_utime)
}

/// The time in the kernel, in seconds of all cores together.
pub(super) fn system_seconds(usage: &libc::rusage) -> f64 {
    seconds(usage.ru_stime)
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
