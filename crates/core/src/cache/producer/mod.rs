//! Produces an archive for the client of this process and for all followers.
//!
//! # The protocol
//!
//! Processes share an archive through three names in the directory. `<key>` is a complete archive. `<key>.part` is an archive
//! in the making. `<key>.read` is where its readers say how far they are.
//!
//! **Who produces.** The process that holds the lock of `<key>.part` is the producer. The kernel releases the lock when the
//! process dies. The producer creates `<key>.read` before it writes the first header, so a follower that sees a header can join.
//!
//! **The file.** A header, the archive from byte 4096 on, then the sums and notes ([`entry`](super::entry)). Only the
//! producer writes, and first the bytes, then the header that counts them. The header says `Growing` with the number of
//! bytes, `Complete`, or `Abandoned`. Followers look at the header again and again; there is no other notification
//! between processes.
//!
//! **Readers** share the lock of `<key>.read`. The producer tries the exclusive lock to see whether a reader is left; once it has
//! that lock, nobody can join. Readers note the furthest position in the file, and the producer stays within
//! [`MAX_LEAD_BYTES`](sending) of it, or of its own client if that is further.
//!
//! **The own client** is a reader on a second thread ([`sending`]). A client that hangs holds up no follower, and the
//! producer waits for nobody while one reader is near.
//!
//! **How it ends** ([`writer::Phase`]):
//!
//! | what happens | the file | the client | followers |
//! |---|---|---|---|
//! | the archive is complete, and somebody wants it | `Complete`, renamed to `<key>` | has all of it | have all of it |
//! | it is complete, and nobody else asked | removed | has all of it | cannot join |
//! | it cannot stay in the file: no room, or other bytes than the key decides | `Abandoned`, removed | gets the rest directly | each produces for itself |
//! | no reader is left | removed, lock released | has left | cannot join |
//! | whatever makes it fails | `Abandoned`, removed | gets the error | each produces for itself |
//! | the process dies | stays `Growing`, lock free | | one of them removes the file and produces; it compares the bytes that it has sent, and continues after them |
//!
//! The producer removes a name only while the name leads to its own file. Another process removes a name only while it holds
//! the lock of the file. A process that renames a file holds the lock of the directory, so that [`quota`](super::quota) misses none.

mod claim;
mod sending;
mod shared_file;
mod writer;

use std::sync::Arc;

use super::{
    client::Client,
    error::CacheError,
    request::{Account, Failure, Produce},
};
pub(super) use claim::Claim;
use sending::{SharedProgress, send};
use shared_file::SharedFile;
use sluice_base::sync::{channel::bounded, thread};
use writer::{Phase, SharingWriter, lost};

/// Produces the archive of `claim` for `client` and for all who follow. Fills in `account`.
pub(super) fn run<E>(
    claim: Claim<'_>,
    client: &mut Client<'_>,
    is_shareable: &(dyn Fn() -> bool + Sync),
    produce: impl Produce<E>,
    account: &mut Account,
) -> Result<Vec<u8>, Failure<E>> {
    let progress = SharedProgress::from(client.sent());
    thread::scope(|scope| {
        let (sent_file, progress) = (Arc::clone(&claim.file), &progress);
        // The thread gets the client once it runs: what a thread owns that cannot start is lost.
        let (give, given) = bounded::<&mut Client<'_>>(1);
        let sender = thread::Builder::new().spawn_scoped(scope, move || {
            let client = given.recv().map_err(|_| lost())?;
            send(client, &sent_file, progress).map(|()| client)
        });
        let mut file = SharedFile::new(claim, progress, is_shareable);
        let phase = match sender {
            Ok(sender) => {
                // Fails only if the sender has panicked, and then says so itself.
                let _ = give.send(client);
                Phase::Sharing(sender)
            }
            Err(error) => {
                file.abandon();
                let error = CacheError::new("cannot start a thread", &error);
                Phase::direct(client, file.produced(), error)
            }
        };
        let mut writer = SharingWriter { file, phase };
        let outcome = produce(&mut writer);
        writer.end(outcome, account)
    })
}
