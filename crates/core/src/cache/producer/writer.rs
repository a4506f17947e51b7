//! Takes the archive from whatever makes it, and decides where the bytes go.

use std::{
    io::{self, Write},
    mem,
};

use super::shared_file::SharedFile;
use crate::cache::{
    client::{Client, Resume, Stop},
    error::CacheError,
    request::{Account, Failure, Role},
};
use sluice_base::sync::thread::ScopedJoinHandle;

/// The thread that sends the file to the client, and gives the client back.
pub(super) type Sender<'scope, 'c, 'a> = ScopedJoinHandle<'scope, Result<&'c mut Client<'a>, Stop>>;

/// Where the bytes go. The only ways are from `Sharing` to `Direct` or `Over`.
pub(super) enum Phase<'scope, 'c, 'a> {
    /// Into the file, which the sender sends to the client.
    Sharing(Sender<'scope, 'c, 'a>),
    /// To the client, because the file was abandoned for this reason.
    Direct {
        client: Resume<'c, 'a>,
        reason: String,
    },
    /// Nowhere: no reader is left, or the client has failed.
    Over,
}

impl<'c, 'a> Phase<'_, 'c, 'a> {
    /// The rest of the archive, from the byte `produced` on, goes to `client`.
    pub(super) fn direct(
        client: &'c mut Client<'a>,
        produced: u64,
        CacheError(reason): CacheError,
    ) -> Self {
        Self::Direct {
            client: client.rest_from(produced),
            reason,
        }
    }
}

/// Takes the archive.
pub(super) struct SharingWriter<'scope, 's, 'c, 'a> {
    pub(super) file: SharedFile<'s>,
    pub(super) phase: Phase<'scope, 'c, 'a>,
}

/// Waits until the sender has sent the whole file.
fn join<'c, 'a>(sender: Sender<'_, 'c, 'a>) -> Result<&'c mut Client<'a>, Stop> {
    sender.join().map_err(|_| lost())?
}

/// The client is not where it should be, because a thread has panicked.
pub(super) fn lost() -> Stop {
    Stop::Client(io::Error::other("the client was lost"))
}

impl SharingWriter<'_, '_, '_, '_> {
    /// Ends the file in favour of the client.
    fn abandon(&mut self, error: CacheError) -> io::Result<()> {
        self.file.abandon();
        if let Phase::Sharing(sender) = mem::replace(&mut self.phase, Phase::Over) {
            let client = join(sender).map_err(Stop::into_io)?;
            self.phase = Phase::direct(client, self.file.produced(), error);
        }
        Ok(())
    }

    /// Stops, since no reader is left. Returns the failure of the client.
    fn stop(&mut self) -> io::Error {
        self.file.leave();
        match mem::replace(&mut self.phase, Phase::Over) {
            Phase::Sharing(sender) => match join(sender) {
                Err(stop) => stop.into_io(),
                Ok(_) => io::ErrorKind::BrokenPipe.into(),
            },
            Phase::Direct { .. } | Phase::Over => io::ErrorKind::BrokenPipe.into(),
        }
    }

    /// The archive has ended with this `outcome`: its notes, or the failure of whatever makes it. Returns when the client has
    /// the archive, or has left.
    pub(super) fn end<E>(
        mut self,
        outcome: Result<Vec<u8>, E>,
        account: &mut Account,
    ) -> Result<Vec<u8>, Failure<E>> {
        account.produced = self.file.produced();
        let sent = match (self.phase, &outcome) {
            (Phase::Direct { client, reason }, _) => {
                account.produced = client.taken();
                account.role = Role::Bypass;
                account.reason = Some(reason.clone());
                return if !client.has_client() {
                    Err(Failure::Bypass(reason))
                } else if client.differs() {
                    Err(Failure::Differs)
                } else {
                    outcome.map_err(Failure::Producer)
                };
            }
            (Phase::Over, _) => Err(lost()),
            // A message may have come after the last byte.
            (Phase::Sharing(sender), Ok(notes)) if self.file.is_shareable() => {
                self.file.complete(notes, || join(sender).map(drop))
            }
            (Phase::Sharing(sender), _) => {
                self.file.abandon();
                join(sender).map(drop)
            }
        };
        let notes = outcome.map_err(Failure::Producer)?;
        sent.map_err(Stop::into_failure)?;
        Ok(notes)
    }
}

impl Write for SharingWriter<'_, '_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.phase {
            Phase::Direct { client, .. } => return client.write(bytes),
            // A producer that failed may flush its buffer. Somebody may still read the file that was left.
            Phase::Over => return Err(io::ErrorKind::BrokenPipe.into()),
            Phase::Sharing(_) => {}
        }
        if let Err(error) = self.file.push(bytes) {
            self.abandon(error)?;
            return self.write(bytes);
        }
        if self.file.await_readers() {
            Ok(bytes.len())
        } else {
            Err(self.stop())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
