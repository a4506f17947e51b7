//! Temporary directories of the tests, and what test runs left that were killed.
//!
//! The name of a directory tells the process that made it. Each run removes what processes left that are no more.

use std::{
    env, fs,
    path::Path,
    process,
    sync::Once,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{StatVfs, StatVfsMountFlags, statvfs},
    io::Errno,
    process::{Pid, test_kill_process},
};
use tempfile::TempDir;

/// What the names of temporary directories begin with; the number of a process follows.
const PREFIX: &str = "git-sluice-test-";
/// What the names of notes about skipped tests begin with; the number of a process follows.
pub(crate) const NOTES: &str = "skipped-";
/// A process that cannot be seen may live in another container. What is younger stays.
const AGE: Duration = Duration::from_secs(60 * 60);

/// Where directories are in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// The bytes that have to be free there. All tests together, on eight threads, have taken less than half.
const ROOM: u64 = 1 << 30;

/// An empty directory: where `TMPDIR` says, or else in memory if there is room. The tests write some hundred thousand files
/// and remove them, and an application of an archive ends with a `syncfs`, which waits for all that other programs have
/// written to the same disk.
pub(crate) fn temporary_directory() -> TempDir {
    let memory = Path::new(MEMORY);
    // In containers, programs often cannot be started there.
    let is_fit = |it: &StatVfs| {
        it.f_bavail * it.f_frsize >= ROOM && !it.f_flag.contains(StatVfsMountFlags::NOEXEC)
    };
    let is_fit = env::var_os("TMPDIR").is_none() && statvfs(memory).is_ok_and(|it| is_fit(&it));
    let in_memory = is_fit.then(|| temporary_directory_in(memory));
    in_memory.flatten().unwrap_or_else(directory_on_disk)
}

/// An empty directory for a test that asks what the system holds in memory of a disk.
pub(crate) fn directory_on_disk() -> TempDir {
    temporary_directory_in(&env::temp_dir()).expect("temporary directories can be made")
}

/// An empty directory in `place`, if one can be made there.
fn temporary_directory_in(place: &Path) -> Option<TempDir> {
    static REMOVED: Once = Once::new();
    REMOVED.call_once(|| {
        let now = SystemTime::now();
        remove_leftovers(&env::temp_dir(), PREFIX, now);
        remove_leftovers(Path::new(MEMORY), PREFIX, now);
        remove_leftovers(Path::new(env!("CARGO_TARGET_TMPDIR")), NOTES, now);
    });
    let prefix = format!("{PREFIX}{}-", process::id());
    tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(place)
        .ok()
}

/// Removes from `place` what has `prefix` and the number of a dead process in its name, and is old enough. What cannot
/// be removed stays.
fn remove_leftovers(place: &Path, prefix: &str, now: SystemTime) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let number = number.and_then(|rest| rest.split('-').next()?.parse().ok());
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|time| now.duration_since(time).ok());
        if number.is_some_and(is_dead) && age.is_some_and(|age| age > AGE) {
            let path = entry.path();
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

fn is_dead(process: i32) -> bool {
    let process = Pid::from_raw(process);
    process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
}

#[test]
fn leftovers_of_dead_processes_are_removed() {
    let place = temporary_directory();
    let mut dead = process::Command::new("true").spawn().expect("it starts");
    let (dead_id, own_id) = (dead.id(), process::id());
    dead.wait().expect("it ends");
    let path = |name: &str| place.path().join(name);
    let [killed, living] = [dead_id, own_id].map(|id| format!("{PREFIX}{id}-abc"));
    let notes = format!("{NOTES}{dead_id}");
    fs::create_dir_all(path(&killed).join("repo")).expect("ours");
    fs::create_dir(path(&living)).expect("ours");
    fs::write(path(&notes), "").expect("ours");
    fs::write(path("other"), "").expect("ours");
    let remove = |now| {
        remove_leftovers(place.path(), PREFIX, now);
        remove_leftovers(place.path(), NOTES, now);
    };
    // Just now they may be another container's.
    remove(SystemTime::now());
    assert!(path(&killed).exists() && path(&notes).exists());
    remove(SystemTime::now() + 2 * AGE);
    assert!(!path(&killed).exists() && !path(&notes).exists());
    assert!(path(&living).exists() && path("other").exists());
}
