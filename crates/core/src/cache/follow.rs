//! Reads an archive while another process makes it.
//!
//! The readers of an archive in the making share the lock of the file `<key>.read`, so that the producer sees whether
//! anybody reads, and the furthest of them is noted in the file, so that the producer does not run ahead of them all.

use std::{fs::File, os::unix::fs::FileExt, sync::Arc};

use super::{
    client::{Client, Stop},
    directory::{self, CacheDirectory, nap},
    entry::{self, Contents, Damaged, FileProgress, FileState},
    error::CacheError,
    request::Key,
};
use sluice_base::sync::thread;

/// Bytes that are sent before the position is noted.
const STEP: u64 = 1 << 20;

/// How the reading of a file ended.
pub(super) enum Ending {
    /// The client has the entire archive; the notes of the producer.
    Notes(Vec<u8>),
    /// The place of the key has changed: look again.
    Again,
    /// The client must be served without the cache.
    Alone(CacheError),
}

/// Sends the archive `key` that another process writes to `file`. Its notes have to be readable.
pub(super) fn follow(
    client: &mut Client<'_>,
    directory: &CacheDirectory,
    key: &Key,
    file: &Arc<File>,
    is_readable: &dyn Fn(&[u8]) -> bool,
) -> Result<Ending, Stop> {
    let name = &key.hex();
    let mut reader = None;
    let mut idle = 0;
    loop {
        client.check_time()?;
        let header = match FileProgress::read(file, key) {
            Ok(header) => header,
            Err(Damaged) => return Ok(unreadable()),
        };
        let progress = header.unwrap_or(FileProgress::growing(0));
        // The producer makes the file of the readers before the header. It may keep a complete archive for its readers' sake.
        if reader.is_none() && header == Some(progress) && progress.state != FileState::Abandoned {
            reader = match Follower::join(directory, name) {
                Ok(reader) => reader,
                Err(error) => return Ok(Ending::Alone(error)),
            };
        }
        let sent = client.sent();
        if progress.state == FileState::Abandoned {
            return Ok(Ending::Alone(abandoned()));
        } else if progress.produced > sent {
            match client.catch_up(file, progress.produced.min(sent + STEP)) {
                Err(Stop::Damaged) => return Ok(unreadable()),
                sent => sent?,
            }
            idle = 0;
        } else if progress.state == FileState::Complete {
            let contents = match Contents::read(file, key) {
                Ok(contents) if contents.produced < sent => return Err(Stop::Differs),
                Ok(contents) if is_readable(&contents.notes) => contents,
                _ => return Ok(unreadable()),
            };
            // All bytes were sent, but perhaps from the file of a producer that died.
            return match client.catch_up(file, contents.produced) {
                Err(Stop::Damaged) => Ok(unreadable()),
                sent => sent.map(|()| Ending::Notes(contents.notes)),
            };
        } else {
            match outlives(directory, key, file) {
                Ok(true) => return Ok(Ending::Again),
                Ok(false) => {}
                Err(error) => return Ok(Ending::Alone(error)),
            }
            thread::sleep(nap(idle));
            idle += 1;
        }
        if let Some(reader) = &reader {
            reader.note(client.sent());
        }
    }
}

fn unreadable() -> Ending {
    Ending::Alone(CacheError("a file is damaged".into()))
}

/// The producer cannot share the archive.
fn abandoned() -> CacheError {
    CacheError("the archive depends on more than its key, or the directory has no room".into())
}

/// Whether the producer that wrote to `file` ended before the archive was complete. Then its file is removed.
fn outlives(directory: &CacheDirectory, key: &Key, file: &File) -> Result<bool, CacheError> {
    if !directory::try_lock(file)? {
        return Ok(false);
    }
    let progress = FileProgress::read(file, key);
    let ended = |progress: FileProgress| progress.state != FileState::Growing;
    let is_dead = !progress.is_ok_and(|progress| progress.is_some_and(ended));
    if is_dead {
        entry::discard_partial(directory, &key.hex(), file)?;
    }
    file.unlock()
        .map_err(|error| CacheError::new("cannot unlock a file", &error))?;
    Ok(is_dead)
}

/// A reader of an archive in the making, as its producer sees it.
struct Follower(File);

impl Follower {
    /// Joins the readers of the archive `name`; `None` if its producer takes no more of them.
    fn join(directory: &CacheDirectory, name: &str) -> Result<Option<Self>, CacheError> {
        let Some(file) = directory.open_file(&entry::readers(name))? else {
            return Ok(None);
        };
        let joined = directory::try_lock_shared(&file)?;
        Ok(joined.then_some(Self(file)))
    }

    /// Notes that this reader has `sent` bytes. Two readers at a time may overwrite each other; both note again.
    fn note(&self, sent: u64) {
        if furthest(&self.0).is_none_or(|furthest| furthest < sent) {
            // A note that is lost makes the producer wait for its own client.
            let _ = self.0.write_all_at(&sent.to_le_bytes(), 0);
        }
    }
}

/// The furthest position that is noted in `file`; `None` if no reader joined.
fn furthest(file: &File) -> Option<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// The readers of an archive in the making, for its producer.
pub(super) struct Readers(File);

impl Readers {
    /// Makes the file again.
    pub(super) fn create(directory: &CacheDirectory, name: &str) -> Result<Self, CacheError> {
        let name = entry::readers(name);
        directory.remove(&name)?;
        let file = directory.create_file(&name)?;
        file.map(Self)
            .ok_or_else(|| CacheError("another process makes the same file".into()))
    }

    /// The position of the furthest reader that ever was, in bytes.
    pub(super) fn furthest(&self) -> u64 {
        furthest(&self.0).unwrap_or(0)
    }

    /// Whether a reader ever joined.
    pub(super) fn any(&self) -> bool {
        furthest(&self.0).is_some()
    }

    /// Whether no reader is left. If so, no reader can join any more.
    pub(super) fn close_if_empty(&self) -> bool {
        directory::try_lock(&self.0).unwrap_or(false)
    }
}
