//! The file of the archive that this process makes: grows, and ends complete or abandoned.
//!
//! Bytes of the archive are written before the header that counts them, so a reader finds every byte that the header promises.

use std::{
    io,
    os::unix::fs::FileExt,
    time::{Duration, Instant},
};

use super::{
    claim::Claim,
    sending::{ClientState, MAX_LEAD_BYTES, SharedProgress},
};
use crate::cache::{
    client::Stop,
    entry::{self, DATA, FileProgress, FileState, Sums},
    error::CacheError,
    quota,
};
use sluice_base::sync::thread;

/// Bytes of an archive that go into the file although no other process asked for the archive. The rest goes to the
/// client alone: most archives are asked for once, and a large one would drive others out of the directory.
const UNWANTED: u64 = 128 << 20;
/// The readers are notified after this many bytes, or after this time if there are fewer.
const NOTIFY_BYTES: u64 = 512 << 10;
const NOTIFY_INTERVAL: Duration = Duration::from_millis(2);
/// The pause before a look at the positions of followers.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The archive in the file.
pub(super) struct SharedFile<'s> {
    claim: Claim<'s>,
    progress: &'s SharedProgress,
    is_shareable: &'s (dyn Fn() -> bool + Sync),
    /// Kept from the start for an archive that may be kept without a follower. Most archives are asked for once.
    sums: Option<Sums>,
    /// Bytes of the archive that are in the file.
    produced: u64,
    /// Bytes of the archive that the readers know of.
    announced: u64,
    /// When the readers were notified.
    notified: Instant,
}

/// Without a producer no more bytes come, even if the producer panicked.
impl Drop for SharedFile<'_> {
    fn drop(&mut self) {
        self.progress.end(self.produced);
    }
}

impl<'s> SharedFile<'s> {
    pub(super) fn new(
        claim: Claim<'s>,
        progress: &'s SharedProgress,
        is_shareable: &'s (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self {
            sums: (claim.keep || claim.finish).then(Sums::default),
            claim,
            progress,
            is_shareable,
            produced: 0,
            announced: 0,
            notified: Instant::now(),
        }
    }

    /// Bytes of the archive that are in the file.
    pub(super) fn produced(&self) -> u64 {
        self.produced
    }

    /// Whether all that was written so far follows from the key alone.
    pub(super) fn is_shareable(&self) -> bool {
        (self.is_shareable)()
    }

    /// Adds `bytes` to the file.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), CacheError> {
        if !self.is_shareable() {
            return Err(CacheError(
                "the archive depends on more than its key".into(),
            ));
        }
        let failed = |error: io::Error| CacheError::new("cannot write a file", &error);
        let claim = &mut self.claim;
        let produced = self.produced + bytes.len() as u64;
        if produced > UNWANTED && !claim.is_wanted() {
            claim.leave();
            return Err(CacheError(
                "the archive is large, and no other process asks for it".into(),
            ));
        }
        claim
            .quota
            .extend(claim.directory, &claim.file, DATA + produced)?;
        claim
            .file
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
            || self.notified.elapsed() >= NOTIFY_INTERVAL;
        if self.announced > 0 && !is_news {
            return Ok(());
        }
        let produced = self.produced;
        FileProgress::growing(produced).write(&self.claim.file, self.claim.key)?;
        self.announced = produced;
        self.notified = Instant::now();
        self.progress.announce(produced);
        Ok(())
    }

    /// Waits until the furthest reader is near. False if no reader is left for whom to go on.
    pub(super) fn await_readers(&self) -> bool {
        let Claim {
            readers, finish, ..
        } = &self.claim;
        loop {
            let client = self.progress.await_client(self.produced, POLL_INTERVAL);
            match client {
                ClientState::Near => return true,
                ClientState::Left if *finish => return true,
                ClientState::Left if readers.close_if_empty() => return false,
                ClientState::Left | ClientState::Slow => {}
            }
            if self.produced <= readers.furthest() + MAX_LEAD_BYTES {
                return true;
            }
            if client == ClientState::Left {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    /// Ends the file: no more bytes come, and the archive is not complete.
    pub(super) fn abandon(&mut self) {
        let claim = &self.claim;
        let progress = FileProgress {
            state: FileState::Abandoned,
            ..FileProgress::growing(self.produced)
        };
        if claim.is_in_place() {
            // Readers of a file that cannot be written to find its lock free.
            let _ = progress.write(&claim.file, claim.key);
            let _ = entry::discard_partial(claim.directory, &claim.name, &claim.file);
        }
        self.progress.end(self.produced);
    }

    /// Completes the file with `notes` and passes it on, as far as anybody wants it. `client` waits for the own client.
    pub(super) fn complete(
        &mut self,
        notes: &[u8],
        client: impl FnOnce() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if !self.claim.finish && !self.claim.is_wanted() {
            self.leave();
            return client();
        }
        if self.seal(notes).is_err() {
            self.abandon();
            return client();
        }
        // Followers have the entire archive now. Whether it is kept for others may depend on the end of the client.
        let is_kept = !self.claim.finish || self.claim.keep || self.claim.readers.any();
        if is_kept {
            self.keep();
        }
        self.progress.end(self.produced);
        let sent = client();
        if !is_kept {
            let has_left = matches!(sent, Err(Stop::Client(_)));
            if has_left || self.claim.is_wanted() {
                self.keep()
            } else {
                self.claim.leave()
            }
        }
        sent
    }

    /// Ends the file, and leaves its place to another process.
    pub(super) fn leave(&self) {
        self.claim.leave();
        self.progress.end(self.produced);
    }

    /// Gives the complete archive the name under which others find it.
    fn keep(&self) {
        let claim = &self.claim;
        let keep = || {
            let _lock = quota::lock(claim.directory)?;
            claim.directory.remove(&entry::readers(&claim.name))?;
            claim
                .directory
                .rename(&entry::part(&claim.name), &claim.name)
        };
        if keep().is_err() {
            let _ = entry::discard_partial(claim.directory, &claim.name, &claim.file);
        }
    }

    /// Writes the end of the complete archive: from now on, readers can verify it.
    fn seal(&mut self, notes: &[u8]) -> Result<(), CacheError> {
        let failed = |error: io::Error| CacheError::new("cannot write a file", &error);
        let claim = &mut self.claim;
        let sums = match self.sums.take() {
            Some(sums) => sums,
            None => Sums::of(&claim.file, self.produced).map_err(failed)?,
        };
        let trailer = sums.trailer(notes);
        let progress = FileProgress {
            state: FileState::Complete,
            produced: self.produced,
            trailer: trailer.len() as u64,
        };
        let end = DATA + self.produced;
        let len = end + progress.trailer;
        claim.quota.extend(claim.directory, &claim.file, len)?;
        claim.file.write_all_at(&trailer, end).map_err(failed)?;
        claim.file.set_len(len).map_err(failed)?;
        progress.write(&claim.file, claim.key).map_err(failed)
    }
}
