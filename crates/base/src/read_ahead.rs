//! Asks the system for whole files, many at once, before the first of them is read.
//!
//! On storage with latency, the opening of a file waits as its content does, so many threads open files. Everything here is a
//! hint: a file that cannot be opened is ignored.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread::{self, Builder, Scope},
};

use rustix::process::{Resource, getrlimit};

/// The most threads that open files. They only wait.
const THREADS: usize = 32;
/// They open at most one in this many of the files that the process may have open: the rest is for the archive.
const PART_OF_FILES: u64 = 8;
/// The stack of such a thread, in bytes.
const STACK: usize = 64 << 10;

/// Asks for `count` files, in order of their numbers and until `max_bytes` are asked for. A file is at the first of its `paths`
/// that can be opened.
pub fn ask_for_files<P>(count: usize, max_bytes: u64, paths: impl Fn(usize) -> P + Sync)
where
    P: IntoIterator<Item = PathBuf>,
{
    let asked = AtomicU64::new(0);
    on_many_threads(count, |number| {
        if asked.load(Ordering::Relaxed) >= max_bytes {
            return;
        }
        let file = paths(number).into_iter().find_map(|path| opened(path).ok());
        if let Some((file, len)) = file {
            let before = asked.fetch_add(len, Ordering::Relaxed);
            will_need(&file, len.min(max_bytes.saturating_sub(before)));
        }
    });
}

/// Runs `ask` in a thread of `scope`. If no thread starts, nothing is asked for.
pub fn in_background<'scope>(scope: &'scope Scope<'scope, '_>, ask: impl FnOnce() + Send + 'scope) {
    let thread = Builder::new().stack_size(STACK);
    let _ = thread.spawn_scoped(scope, ask);
}

/// Asks where all `paths` lead to, so that the system knows it when the first of them is used.
pub fn ask_for_names(paths: &[PathBuf]) {
    on_many_threads(paths.len(), |number| {
        let _ = paths[number].metadata();
    });
}

/// Asks for each of `count`, in order of their numbers.
fn on_many_threads(count: usize, ask: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let ask_for_all = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            ask(number);
        }
    };
    thread::scope(|scope| {
        // If no thread starts, nothing is asked for.
        (0..count.min(threads())).all(|_| {
            let thread = Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, ask_for_all).is_ok()
        });
    });
}

/// The number of threads that open files, each one at a time.
fn threads() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files / PART_OF_FILES).map_or(THREADS, |files| files.min(THREADS))
}

/// The file at `path` and its length, without waiting for anybody who writes to a pipe.
fn opened(path: PathBuf) -> std::io::Result<(File, u64)> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    let len = file.metadata()?.len();
    Ok((file, len))
}

#[cfg(target_os = "linux")]
fn will_need(file: &File, len: u64) {
    let _ = rustix::fs::fadvise(file, 0, len.try_into().ok(), rustix::fs::Advice::WillNeed);
}

/// The file was opened, at least.
#[cfg(not(target_os = "linux"))]
fn will_need(_: &File, _: u64) {}
