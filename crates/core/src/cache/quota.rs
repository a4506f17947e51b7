//! Quota for archives: what the directory holds never exceeds its size.
//!
//! The directory is its own ledger. The file of an archive in the making is as long as the room that is set aside for
//! the archive. A process that sets room aside holds the lock of the directory, adds up all files, and removes archives
//! until the sum fits, those first that were not asked for lately. No file gets another name without that lock: it could be
//! missed in both places.

use std::{fs::File, time::Duration};

use super::{
    directory::{self, CacheDirectory, Listed, largest_file, room},
    entry,
    error::CacheError,
    settings::Settings,
    table,
};

/// Quota is set aside in steps between these, in bytes.
const SMALLEST_STEP: u64 = 1 << 20;
const LARGEST_STEP: u64 = 16 << 20;
/// Quota for files that grow without being asked: positions of readers, and tables.
const SLACK: u64 = (64 << 10) + table::ROOM;
/// Free space that is left to others: a twentieth of the file system, at most this many bytes.
const FLOOR: u64 = 1 << 30;
/// Letters of a key.
const KEY_LEN: usize = 64;

/// The room of one archive in the making.
pub(super) struct Quota {
    size: u64,
    age: Duration,
    /// See [`largest_file`].
    limit: u64,
    /// Bytes that are set aside.
    held: u64,
}

impl Quota {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            size: settings.size,
            age: settings.age,
            limit: largest_file(),
            held: 0,
        }
    }

    /// Makes `file` at least `len` bytes long, if there is room for it.
    pub(super) fn extend(
        &mut self,
        directory: &CacheDirectory,
        file: &File,
        len: u64,
    ) -> Result<(), CacheError> {
        if len <= self.held {
            return Ok(());
        }
        if room(len) > self.limit {
            return Err(CacheError(
                "the process may not write so large a file".into(),
            ));
        }
        let _lock = lock(directory)?;
        let step = self.held.clamp(SMALLEST_STEP, LARGEST_STEP);
        let wanted = room(len.max(self.held + step)).min(self.limit);
        let granted = if self.make(directory, wanted - self.held)? {
            wanted
        } else if self.make(directory, room(len) - self.held)? {
            room(len)
        } else {
            return Err(CacheError("the directory has no room".into()));
        };
        file.set_len(granted)
            .map_err(|error| CacheError::new("cannot extend a file", &error))?;
        self.held = granted;
        Ok(())
    }

    /// Whether `more` bytes fit, after archives were removed for them.
    fn make(&self, directory: &CacheDirectory, more: u64) -> Result<bool, CacheError> {
        let files = directory.list()?;
        let mut held = 0;
        let mut archives = Vec::new();
        for file in files {
            if table::is_table(&file.name) || sweep(directory, &file, self.age)? {
                continue;
            }
            held += file.room;
            if is_key(&file.name) {
                archives.push(file);
            }
        }
        let (mut free, all) = directory.space()?;
        let floor = FLOOR.min(all / 20);
        let fits = |held: u64, free: u64| held + more + SLACK <= self.size && more + floor <= free;
        let removable = archives.iter().map(|file| file.room).sum::<u64>();
        if !fits(held - removable, free + removable) {
            return Ok(false);
        }
        archives.sort_by_key(|file| std::cmp::Reverse(file.used));
        while !fits(held, free)
            && let Some(oldest) = archives.pop()
        {
            directory.remove(&oldest.name)?;
            held -= oldest.room;
            free += oldest.room;
        }
        Ok(fits(held, free))
    }
}

/// The lock of the directory, which is held until the file is dropped.
pub(super) fn lock(directory: &CacheDirectory) -> Result<File, CacheError> {
    let file = directory.open_or_create("lock")?;
    directory::lock(&file)?;
    Ok(file)
}

/// Whether `name` is that of a complete archive.
fn is_key(name: &str) -> bool {
    name.len() == KEY_LEN && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes `file` if it is too old, or left by a process that died.
fn sweep(directory: &CacheDirectory, file: &Listed, age: Duration) -> Result<bool, CacheError> {
    if is_key(&file.name) {
        let is_old = file.used.elapsed().is_ok_and(|elapsed| elapsed > age);
        if is_old {
            directory.remove(&file.name)?;
        }
        return Ok(is_old);
    }
    let Some((name, kind)) = file.name.split_once('.').filter(|(name, _)| is_key(name)) else {
        return Ok(false);
    };
    match kind {
        "part" => {
            let Some(left) = directory.open_file(&file.name)? else {
                return Ok(true);
            };
            let is_left = directory::try_lock(&left)?;
            if is_left {
                entry::discard_partial(directory, name, &left)?;
            }
            Ok(is_left)
        }
        "read" if !directory.exists(&entry::part(name))? => {
            directory.remove(&file.name)?;
            Ok(true)
        }
        // Builds before the table had one for each family.
        "latest" => {
            directory.remove(&file.name)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        path::PathBuf,
        time::{Duration, SystemTime},
    };

    use super::{CacheDirectory, Quota, SLACK, Settings};
    use sluice_base::temporary;

    const MIB: u64 = 1 << 20;
    const DAY: Duration = Duration::from_secs(86_400);

    /// A directory that may hold 8 MiB.
    struct Room {
        _top: tempfile::TempDir,
        directory: CacheDirectory,
    }

    impl Room {
        fn new() -> Self {
            let top = temporary::directory();
            let directory = CacheDirectory::open(&top.path().join("cache")).expect("ours");
            Self {
                _top: top,
                directory,
            }
        }

        fn quota() -> Quota {
            Quota::new(&Settings {
                directory: PathBuf::new(),
                size: 8 * MIB + SLACK,
                age: DAY,
                always: false,
                finish: false,
                jobs: None,
                wait: None,
                fault: None,
            })
        }

        fn file(&self, name: &str, len: u64) -> File {
            let file = self.directory.create_file(name).expect("ours");
            let file = file.expect("a new one");
            file.set_len(len).expect("room");
            file
        }

        /// A complete archive of 2 MiB, whose key has this `digit`, last asked for so many `hours` ago.
        fn archive(&self, digit: &str, hours: u64) {
            let used = SystemTime::now() - Duration::from_secs(hours * 3600);
            let file = self.file(&digit.repeat(64), 2 * MIB);
            file.set_modified(used).expect("our own");
        }

        /// The first letters of all names but that of the lock.
        fn names(&self) -> String {
            let listed = self.directory.list().expect("ours");
            let names = listed.iter().map(|file| &file.name[..]);
            let mut letters: Vec<&str> = names.filter(|name| *name != "lock").collect();
            letters.sort_unstable();
            letters.iter().map(|name| &name[..1]).collect()
        }
    }

    #[test]
    fn archives_that_nobody_asked_for_lately_give_way() {
        let room = Room::new();
        for (digit, hours) in [("a", 3), ("b", 1), ("c", 2)] {
            room.archive(digit, hours);
        }
        let (mut quota, file) = (Room::quota(), room.file("x", 0));
        let mut extend = |len| quota.extend(&room.directory, &file, len).is_ok();
        assert!(extend(MIB));
        assert_eq!(room.names(), "abcx");
        let set_aside = file.metadata().expect("ours").len();
        assert!((MIB..=2 * MIB).contains(&set_aside), "{set_aside}");
        assert!(extend(3 * MIB));
        assert_eq!(room.names(), "bcx");
        assert!(extend(6 * MIB + 1));
        assert_eq!(room.names(), "x");
        assert!(extend(8 * MIB));
        assert!(!extend(8 * MIB + 1), "there is no room");
        assert!(extend(8 * MIB), "what was set aside stays");
    }

    #[test]
    fn archives_in_the_making_stay() {
        let room = Room::new();
        let name = format!("{}.part", "d".repeat(64));
        let making = room.file(&name, 5 * MIB);
        making.lock().expect("our own");
        room.archive("a", 0);
        let (mut quota, file) = (Room::quota(), room.file("x", 0));
        assert!(quota.extend(&room.directory, &file, 4 * MIB).is_err());
        assert_eq!(room.names(), "adx", "nothing is removed in vain");
        assert!(quota.extend(&room.directory, &file, 2 * MIB).is_ok());
        assert_eq!(room.names(), "dx");
        making.unlock().expect("our own");
        assert!(quota.extend(&room.directory, &file, 4 * MIB).is_ok());
        assert_eq!(room.names(), "x", "its process is dead");
    }

    #[test]
    fn leftovers_are_swept() {
        let room = Room::new();
        room.archive("a", 25);
        room.file(&format!("{}.read", "e".repeat(64)), 8);
        room.file(&format!("{}.latest", "f".repeat(64)), 64);
        room.file("other", 8);
        let (mut quota, file) = (Room::quota(), room.file("x", 0));
        assert!(quota.extend(&room.directory, &file, 1).is_ok());
        assert_eq!(room.names(), "ox");
    }
}
