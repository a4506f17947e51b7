//! Asks the system for loose objects, before the first of them is used.
//!
//! Each is a file of its own, and on storage with latency its opening waits as its content does. So many threads open them. Must
//! not decide whether an object exists: who needs it looks for it.

use std::{
    fs::File,
    path::PathBuf,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread::{self, Builder},
};

use gix::{ObjectId, hash::oid};

use super::{loose, map::Map};

/// The threads that open files. They only wait.
const THREADS: usize = 32;
/// The stack of such a thread, in bytes.
const STACK: usize = 64 << 10;

/// Opens the files of the loose objects `ids` in the object directories `dirs`, and asks for their content, in this order and
/// until `max_bytes` are asked for.
pub(super) fn ask(dirs: &[PathBuf], ids: &[ObjectId], max_bytes: u64) {
    let next = AtomicUsize::new(0);
    let asked = AtomicU64::new(0);
    let ask_for_all = || {
        while asked.load(Ordering::Relaxed) < max_bytes
            && let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed))
        {
            asked.fetch_add(ask_for(dirs, id), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        // If no thread starts, nothing is asked for.
        (0..ids.len().min(THREADS)).all(|_| {
            let thread = Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, ask_for_all).is_ok()
        });
    });
}

/// Whether the loose object `id` is in memory. True if there is no such object.
pub(super) fn is_in_memory(dirs: &[PathBuf], id: &oid) -> bool {
    let mut files = dirs.iter().map(|dir| Map::open(&loose::path(dir, id)));
    let file = files.find_map(Result::ok);
    file.is_none_or(|file| file.is_in_memory(0..file.len()))
}

/// Asks for the object `id`, and returns the bytes of its file.
fn ask_for(dirs: &[PathBuf], id: &oid) -> u64 {
    let mut files = dirs.iter().map(|dir| File::open(loose::path(dir, id)));
    let Some(file) = files.find_map(Result::ok) else {
        return 0;
    };
    will_need(&file);
    file.metadata().map_or(0, |metadata| metadata.len())
}

#[cfg(target_os = "linux")]
fn will_need(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::WillNeed);
}

/// The file was opened, at least.
#[cfg(not(target_os = "linux"))]
fn will_need(_: &File) {}
