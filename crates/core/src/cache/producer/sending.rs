//! Sends the growing file to the client of the process that makes the archive, on a thread of its own.
//!
//! Both threads share a [`SharedProgress`]: the producer tells how much is in the file, the sender how much the client has. The
//! sender ends when the file has ended and everything was sent, or when the client cannot be written to. Must not know how the
//! archive is made, nor who else reads the file.

use std::{
    fs::File,
    sync::{Arc, PoisonError},
    time::Duration,
};

use crate::cache::client::{Client, Stop};
use sluice_base::{sync::Condvar, threads::Lock};

/// Bytes that are produced ahead of the furthest reader.
pub(crate) const MAX_LEAD_BYTES: u64 = 8 << 20;
/// Bytes that go to the client before its position is noted.
const STEP: u64 = 1 << 20;

/// The client, as the producer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientState {
    /// The client has all but a few bytes.
    Near,
    /// The producer is far ahead of the client.
    Slow,
    /// The client takes no more bytes.
    Left,
}

/// What the producer and the sender tell each other.
pub(crate) struct SharedProgress {
    state: Lock<SharedState>,
    changed: Condvar,
}

#[derive(Default)]
struct SharedState {
    /// Bytes that are in the file.
    produced: u64,
    /// Bytes that the producer's client has.
    sent: u64,
    /// No more bytes come into the file.
    is_last: bool,
    /// The sender has ended, perhaps for want of a client.
    is_over: bool,
}

impl SharedProgress {
    /// The client has `sent` bytes already: from another archive of the key, which was not completed.
    pub(crate) fn from(sent: u64) -> Self {
        let state = SharedState {
            sent,
            ..SharedState::default()
        };
        Self {
            state: Lock::new(state),
            changed: Condvar::new(),
        }
    }

    /// The file has `produced` bytes.
    pub(crate) fn announce(&self, produced: u64) {
        self.update(|now| now.produced = produced);
    }

    /// The sender has ended.
    fn leave(&self) {
        self.update(|now| now.is_over = true);
    }

    fn update(&self, change: impl FnOnce(&mut SharedState)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// No more than `produced` bytes come.
    pub(crate) fn end(&self, produced: u64) {
        self.update(|now| {
            now.produced = produced;
            now.is_last = true;
        });
    }

    /// Waits for more than `sent` bytes, or for the end: bytes in the file, and whether they are all.
    fn more_than(&self, sent: u64) -> (u64, bool) {
        let is_idle = |now: &mut SharedState| now.produced <= sent && !now.is_last;
        let now = self.changed.wait_while(self.state.lock(), is_idle);
        let now = now.unwrap_or_else(PoisonError::into_inner);
        (now.produced, now.is_last)
    }

    /// Looks where the client is. If it lacks many of the `produced` bytes, waits for news of it, `patience` at most.
    pub(crate) fn await_client(&self, produced: u64, patience: Duration) -> ClientState {
        let now = self.state.lock();
        if now.is_over {
            ClientState::Left
        } else if produced <= now.sent + MAX_LEAD_BYTES {
            ClientState::Near
        } else {
            drop(self.changed.wait_timeout(now, patience));
            ClientState::Slow
        }
    }
}

/// Sends the growing `file` to `client`, until the file ends. Tells `progress` when it ends itself.
pub(crate) fn send(
    client: &mut Client<'_>,
    file: &Arc<File>,
    progress: &SharedProgress,
) -> Result<(), Stop> {
    let sent = send_all(client, file, progress);
    progress.leave();
    sent
}

fn send_all(
    client: &mut Client<'_>,
    file: &Arc<File>,
    progress: &SharedProgress,
) -> Result<(), Stop> {
    loop {
        let (produced, is_last) = progress.more_than(client.sent());
        let until = produced.min(client.sent() + STEP);
        client.catch_up(file, until)?;
        let sent = client.sent();
        if is_last && sent >= produced {
            return Ok(());
        }
        progress.update(|now| now.sent = sent);
    }
}
