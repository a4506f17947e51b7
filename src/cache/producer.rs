//! Produces an archive for the leader's client and for all followers.
//!
//! The producer writes to the file, and a second thread sends the file to the leader's own client, as every follower
//! does to its client. So a client that hangs holds up no other client. The producer waits for the furthest reader, and
//! stops when the last one is gone, unless the archive is to be finished for the directory. An archive that cannot stay in
//! the file (no room, or more than the key decides its bytes) is abandoned there, and goes on to the leader's client alone.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    sync::{Arc, Condvar, PoisonError},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::bounded;

use super::{
    client::{Client, Resume, Stop},
    directory::Directory,
    entry::{self, DATA, Progress, State, Sums},
    error::CacheError,
    follow::Readers,
    quota::Quota,
    request::{Account, Failure, Produce, Role},
    settings::Settings,
};
use crate::base::threads::Lock;

/// Bytes that are produced ahead of the furthest reader.
const MAX_LEAD_BYTES: u64 = 8 << 20;
/// Bytes of an archive that go into the file although no other process asked for the archive. The rest goes to the
/// client alone: most archives are asked for once, and a large one would drive others out of the directory.
const UNWANTED: u64 = 128 << 20;
/// Bytes that go to the leader's client before its position is noted.
const STEP: u64 = 1 << 20;
/// Bytes that the readers are told of at once, and the time after which they are told of fewer.
const NOTIFY_BYTES: u64 = 512 << 10;
const NOTIFY_INTERVAL: Duration = Duration::from_millis(2);
/// The pause before a look at the positions of followers.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// An archive that this process makes for others as well.
pub(super) struct Producer<'a> {
    directory: &'a Directory,
    name: &'a str,
    /// The lock of the file is held.
    file: Arc<File>,
    readers: Readers,
    room: Quota,
    /// Whether the archive is kept even without a follower.
    keep: bool,
    /// Whether the archive is finished and kept if the client leaves.
    finish: bool,
}

impl<'a> Producer<'a> {
    /// Begins the archive `name` in `file`, whose lock the caller holds.
    pub(super) fn begin(
        directory: &'a Directory,
        settings: &Settings,
        name: &'a str,
        file: Arc<File>,
        keep: bool,
    ) -> Result<Self, CacheError> {
        let begin = || {
            let mut room = Quota::new(settings);
            room.extend(directory, &file, DATA)?;
            let readers = Readers::create(directory, name)?;
            let written = Progress::growing(0).write(&file);
            written.map_err(|error| CacheError::new("cannot write a file", &error))?;
            Ok((room, readers))
        };
        match begin() {
            Ok((room, readers)) => Ok(Self {
                directory,
                name,
                file,
                readers,
                room,
                keep,
                finish: settings.finish,
            }),
            Err(trouble) => {
                let _ = entry::discard_partial(directory, name, &file);
                Err(trouble)
            }
        }
    }

    /// Whether the file still is the one in which others look for the archive.
    fn is_in_place(&self) -> bool {
        let at = self.directory.is_at(&entry::part(self.name), &self.file);
        at.unwrap_or(false)
    }

    /// Whether the archive is kept, or a reader has joined. If not, no reader can join any more.
    fn is_wanted(&self) -> bool {
        self.keep || self.readers.any() || !self.readers.close_if_empty()
    }

    /// Leaves the place to another process: readers take the leader for dead.
    pub(super) fn leave(&self) {
        let _ = entry::discard_partial(self.directory, self.name, &self.file);
        let _ = self.file.unlock();
    }

    /// Produces the archive.
    pub(super) fn run<E>(
        self,
        client: &mut Client<'_>,
        is_shareable: &(dyn Fn() -> bool + Sync),
        produce: impl Produce<E>,
        account: &mut Account,
    ) -> Result<Vec<u8>, Failure<E>> {
        let stage = SharedProgress::from(client.sent());
        thread::scope(|scope| {
            let file = Arc::clone(&self.file);
            let stage = &stage;
            // The thread gets the client once it runs: what a thread owns that cannot start is lost.
            let (give, given) = bounded::<&mut Client<'_>>(1);
            let send = move || {
                let client = given.recv().map_err(|_| lost())?;
                let outcome = send(client, &file, stage);
                stage.update(|now| now.is_over = true);
                outcome.map(|()| client)
            };
            let sender = thread::Builder::new().spawn_scoped(scope, send);
            let mut writer = Writer {
                stored: Stored {
                    sums: (self.keep || self.finish).then(Sums::default),
                    lead: self,
                    stage,
                    is_shareable,
                    produced: 0,
                    announced: 0,
                    told: Instant::now(),
                },
                sender: None,
                direct: None,
                reason: None,
            };
            match sender {
                Ok(sender) => {
                    writer.sender = Some(sender);
                    // Fails only if the sender has panicked, and then says so itself.
                    let _ = give.send(client);
                }
                Err(error) => {
                    writer.stored.abandon();
                    writer.go_on(client, CacheError::new("cannot start a thread", &error));
                }
            }
            let outcome = produce(&mut writer);
            writer.end(outcome, account)
        })
    }
}

/// What producer and sender tell each other.
struct SharedProgress {
    now: Lock<SharedState>,
    changed: Condvar,
}

#[derive(Default)]
struct SharedState {
    /// Bytes that are in the file.
    produced: u64,
    /// Bytes that the leader's client has.
    sent: u64,
    /// No more bytes come into the file.
    is_last: bool,
    /// The sender has ended, perhaps for want of a client.
    is_over: bool,
}

impl SharedProgress {
    /// The client has `sent` bytes already: from another archive of the key, which was not completed.
    fn from(sent: u64) -> Self {
        let now = SharedState {
            sent,
            ..SharedState::default()
        };
        Self {
            now: Lock::new(now),
            changed: Condvar::new(),
        }
    }

    fn update(&self, change: impl FnOnce(&mut SharedState)) {
        change(&mut self.now.lock());
        self.changed.notify_all();
    }

    /// No more than `produced` bytes come.
    fn end(&self, produced: u64) {
        self.update(|now| {
            now.produced = produced;
            now.is_last = true;
        });
    }

    /// Waits for more than `sent` bytes, or for the end: bytes in the file, and whether they are all.
    fn more_than(&self, sent: u64) -> (u64, bool) {
        let is_idle = |now: &mut SharedState| now.produced <= sent && !now.is_last;
        let now = self.changed.wait_while(self.now.lock(), is_idle);
        let now = now.unwrap_or_else(PoisonError::into_inner);
        (now.produced, now.is_last)
    }
}

/// Sends the growing `file` to `client`.
fn send(client: &mut Client<'_>, file: &Arc<File>, stage: &SharedProgress) -> Result<(), Stop> {
    loop {
        let (produced, is_last) = stage.more_than(client.sent());
        let until = produced.min(client.sent() + STEP);
        client.catch_up(file, until)?;
        let sent = client.sent();
        if is_last && sent >= produced {
            return Ok(());
        }
        stage.update(|now| now.sent = sent);
    }
}

/// The archive in the file.
struct Stored<'s> {
    lead: Producer<'s>,
    stage: &'s SharedProgress,
    is_shareable: &'s (dyn Fn() -> bool + Sync),
    /// Kept from the start for an archive that may be kept without a follower. Most archives are asked for once.
    sums: Option<Sums>,
    /// Bytes of the archive that are in the file.
    produced: u64,
    /// Bytes of the archive that the readers know of.
    announced: u64,
    /// When the readers were told.
    told: Instant,
}

/// Without a producer no more bytes come, even if the producer panicked.
impl Drop for Stored<'_> {
    fn drop(&mut self) {
        self.stage.end(self.produced);
    }
}

impl Stored<'_> {
    /// Adds `bytes` to the file.
    fn push(&mut self, bytes: &[u8]) -> Result<(), CacheError> {
        if !(self.is_shareable)() {
            return Err(CacheError(
                "the archive depends on more than its key".into(),
            ));
        }
        let failed = |error: io::Error| CacheError::new("cannot write a file", &error);
        let lead = &mut self.lead;
        let produced = self.produced + bytes.len() as u64;
        if produced > UNWANTED && !lead.is_wanted() {
            lead.leave();
            return Err(CacheError(
                "the archive is large, and no other process asks for it".into(),
            ));
        }
        lead.room
            .extend(lead.directory, &lead.file, DATA + produced)?;
        lead.file
            .write_all_at(bytes, DATA + self.produced)
            .map_err(failed)?;
        self.produced = produced;
        if let Some(sums) = &mut self.sums {
            sums.push(bytes);
        }
        // A failure to tell others is no reason to abandon the archive: the next bytes show whether it lasts.
        let _ = self.announce();
        Ok(())
    }

    /// Tells the readers how far the archive has come, unless that is little news.
    fn announce(&mut self) -> io::Result<()> {
        let is_news = self.produced - self.announced >= NOTIFY_BYTES
            || self.told.elapsed() >= NOTIFY_INTERVAL;
        if self.announced > 0 && !is_news {
            return Ok(());
        }
        let produced = self.produced;
        Progress::growing(produced).write(&self.lead.file)?;
        self.announced = produced;
        self.told = Instant::now();
        self.stage.update(|now| now.produced = produced);
        Ok(())
    }

    /// Waits until the furthest reader is near. False if no reader is left for whom to go on.
    fn await_readers(&self) -> bool {
        let readers = &self.lead.readers;
        loop {
            let now = self.stage.now.lock();
            let (sent, is_over) = (now.sent, now.is_over);
            if is_over {
                drop(now);
                if self.lead.finish {
                    return true;
                }
                if readers.close_if_empty() {
                    return false;
                }
            } else if self.produced <= sent + MAX_LEAD_BYTES {
                return true;
            } else {
                let waited = self.stage.changed.wait_timeout(now, POLL_INTERVAL);
                drop(waited);
            }
            if self.produced <= readers.furthest() + MAX_LEAD_BYTES {
                return true;
            }
            if is_over {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    /// Ends the file: no more bytes come, and the archive is not complete.
    fn abandon(&mut self) {
        let lead = &self.lead;
        let progress = Progress {
            state: State::Abandoned,
            ..Progress::growing(self.produced)
        };
        if lead.is_in_place() {
            // Readers of a file that cannot be written to find its lock free.
            let _ = progress.write(&lead.file);
            let _ = entry::discard_partial(lead.directory, lead.name, &lead.file);
        }
        self.stage.end(self.produced);
    }

    /// Gives the complete archive the name under which others find it.
    fn keep(&self) {
        let lead = &self.lead;
        let kept = lead
            .directory
            .remove(&entry::readers(lead.name))
            .and_then(|()| lead.directory.rename(&entry::part(lead.name), lead.name));
        if kept.is_err() {
            let _ = entry::discard_partial(lead.directory, lead.name, &lead.file);
        }
    }

    /// Writes the end of the complete archive: from now on, readers can verify it.
    fn seal(&mut self, notes: &[u8]) -> Result<(), CacheError> {
        let failed = |error: io::Error| CacheError::new("cannot write a file", &error);
        let lead = &mut self.lead;
        let sums = match self.sums.take() {
            Some(sums) => sums,
            None => Sums::of(&lead.file, self.produced).map_err(failed)?,
        };
        let trailer = sums.trailer(notes);
        let progress = Progress {
            state: State::Complete,
            produced: self.produced,
            trailer: trailer.len() as u64,
        };
        let end = DATA + self.produced;
        let len = end + progress.trailer;
        lead.room.extend(lead.directory, &lead.file, len)?;
        lead.file.write_all_at(&trailer, end).map_err(failed)?;
        lead.file.set_len(len).map_err(failed)?;
        progress.write(&lead.file).map_err(failed)
    }
}

type Sender<'scope, 'c, 'a> = ScopedJoinHandle<'scope, Result<&'c mut Client<'a>, Stop>>;

fn lost() -> Stop {
    Stop::Client(io::Error::other("the client was lost"))
}

/// Takes the archive from the producer: into the file, or, once that cannot be, to the client.
struct Writer<'scope, 's, 'c, 'a> {
    stored: Stored<'s>,
    /// Sends the file to the client, until the file ends.
    sender: Option<Sender<'scope, 'c, 'a>>,
    /// Takes the rest of an archive that was abandoned.
    direct: Option<Resume<'c, 'a>>,
    /// Why the archive was abandoned.
    reason: Option<String>,
}

impl<'c, 'a> Writer<'_, '_, 'c, 'a> {
    /// Waits until the sender has sent the whole file.
    fn client(&mut self) -> Result<&'c mut Client<'a>, Stop> {
        let sender = self.sender.take().ok_or_else(lost)?;
        sender.join().map_err(|_| lost())?
    }

    /// Ends the file in favour of the client.
    fn abandon(&mut self, trouble: CacheError) -> io::Result<()> {
        self.stored.abandon();
        let client = self.client().map_err(Stop::into_io)?;
        self.go_on(client, trouble);
        Ok(())
    }

    /// Writes the rest of the archive to `client`.
    fn go_on(&mut self, client: &'c mut Client<'a>, CacheError(reason): CacheError) {
        self.direct = Some(client.rest_from(self.stored.produced));
        self.reason = Some(reason);
    }

    /// Stops, since no reader is left. Returns the failure of the client.
    fn stop(&mut self) -> io::Error {
        self.stored.lead.leave();
        match self.client() {
            Err(stop) => stop.into_io(),
            Ok(_) => io::ErrorKind::BrokenPipe.into(),
        }
    }

    /// Ends the file: the archive is complete. Returns when the client has the archive, or has left.
    fn complete(&mut self, notes: &[u8]) -> Result<(), Stop> {
        let stored = &mut self.stored;
        if !stored.lead.finish && !stored.lead.is_wanted() {
            stored.lead.leave();
            stored.stage.end(stored.produced);
            return self.client().map(drop);
        }
        if stored.seal(notes).is_err() {
            stored.abandon();
            return self.client().map(drop);
        }
        // Followers have the whole archive now. Whether it is kept for others may depend on the end of the client.
        let is_kept = !stored.lead.finish || stored.lead.keep || stored.lead.readers.any();
        if is_kept {
            stored.keep();
        }
        stored.stage.end(stored.produced);
        let sent = self.client().map(drop);
        if !is_kept {
            let has_left = matches!(sent, Err(Stop::Client(_)));
            match has_left || self.stored.lead.is_wanted() {
                true => self.stored.keep(),
                false => self.stored.lead.leave(),
            }
        }
        sent
    }

    /// The producer has ended.
    fn end<E>(
        mut self,
        outcome: Result<Vec<u8>, E>,
        account: &mut Account,
    ) -> Result<Vec<u8>, Failure<E>> {
        account.produced = self.stored.produced;
        if let Some(direct) = self.direct {
            account.produced = direct.taken();
            account.role = Role::Bypass;
            account.reason.clone_from(&self.reason);
            return match self.reason {
                Some(reason) if !direct.has_client() => Err(Failure::Bypass(reason)),
                _ if direct.differs() => Err(Failure::Differs),
                _ => outcome.map_err(Failure::Producer),
            };
        }
        let sent = match &outcome {
            // A message may have come behind the last byte.
            Ok(notes) if (self.stored.is_shareable)() => self.complete(notes),
            _ => {
                if self.sender.is_some() {
                    self.stored.abandon();
                }
                self.client().map(drop)
            }
        };
        let notes = outcome.map_err(Failure::Producer)?;
        sent.map_err(Stop::into_failure)?;
        Ok(notes)
    }
}

impl Write for Writer<'_, '_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(direct) = &mut self.direct {
            return direct.write(bytes);
        }
        // A producer that failed may flush its buffer. Somebody may still read the file that was left.
        if self.sender.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if let Err(trouble) = self.stored.push(bytes) {
            self.abandon(trouble)?;
            return self.write(bytes);
        }
        match self.stored.await_readers() {
            true => Ok(bytes.len()),
            false => Err(self.stop()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
