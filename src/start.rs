//! Where the program begins, in place of the standard library's `main`: one of five modules with `unsafe`
//! code.
//!
//! Before `main`, the library asks where the stack lies, so that it can say so should it ever overflow.
//! The answer comes out of a list of all mappings, as text, and with it a start takes 0.13 ms more of two or
//! three: as much as an archive of ten files wins or loses to git's. What the library does else
//! is done here, as git does it: what is opened must not take the place of a standard stream, and a
//! reader that goes away is an error of the write. A stack that overflows ends us by SIGSEGV, as any program
//! in C.
//!
//! Only with glibc, which hands the arguments to the library all the same.
#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int},
    io,
    mem::forget,
    os::fd::{AsFd, AsRawFd},
    panic::catch_unwind,
    process::exit,
};

use git_sluice::report::note_closed;
use rustix::{
    fs::{Mode, OFlags, open},
    io::{Errno, fcntl_getfd},
};

/// What a shell sees of a program in Rust that panicked.
const PANICKED: u8 = 101;

/// Where the C library begins.
// SAFETY: nothing else is called `main`, and it is what the C library expects: two arguments, a status.
#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    let opened = open_standard_streams();
    // SAFETY: there are no other threads yet, and where a signal is ignored no code of ours runs.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let status = match opened {
        Ok(()) => catch_unwind(crate::run).unwrap_or(PANICKED),
        Err(_) => PANICKED,
    };
    // Flushes what the library holds for standard output.
    exit(status.into())
}

/// Put the null device where a standard stream was closed, for this program and for the commands that it
/// starts.
fn open_standard_streams() -> rustix::io::Result<()> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    for stream in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
        if fcntl_getfd(stream) == Err(Errno::BADF) {
            // The lowest number that is free: all below are open. Without `CLOEXEC`.
            let null = open("/dev/null", OFlags::RDWR, Mode::empty())?;
            note_closed(null.as_raw_fd());
            forget(null);
        }
    }
    Ok(())
}
