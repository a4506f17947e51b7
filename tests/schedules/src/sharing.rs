//! A producer of the cache that writes pieces, beside the thread that sends them.

use std::{
    fs::File,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::{
    client::{Client, Stop},
    sending::{ClientState, MAX_LEAD_BYTES, SharedProgress, send},
    sync::thread,
};

/// Bytes of a piece.
const PIECE: u64 = MAX_LEAD_BYTES / 2;
/// Without a follower, nothing but news of the client ends a wait.
const FOREVER: Duration = Duration::MAX;

/// What becomes of an archive.
#[derive(Debug, PartialEq, Eq)]
pub struct Shared {
    /// Pieces in the file.
    pub produced: u64,
    /// Pieces that the client has.
    pub sent: u64,
    /// Whether the client has left.
    pub has_left: bool,
}

/// Produces up to `pieces`, for a client that leaves after so many, if it does.
pub fn share(pieces: u64, leaves_after: Option<u64>) -> Shared {
    let (written, sent) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = SharedProgress::from(0);
    let file = Arc::new(File::open("/dev/null").expect("every system has it"));
    let mut client = Client {
        written: &written,
        sent: &sent,
        leaves_at: leaves_after.map_or(u64::MAX, |pieces| pieces * PIECE),
    };
    let outcome = thread::scope(|scope| {
        let sender = scope.spawn(|| send(&mut client, &file, &progress));
        let mut produced = 0;
        while produced < pieces * PIECE {
            produced += PIECE;
            written.store(produced, SeqCst);
            progress.announce(produced);
            let state = std::iter::repeat_with(|| progress.await_client(produced, FOREVER));
            let mut state = state.skip_while(|state| *state == ClientState::Behind);
            if state.next() == Some(ClientState::Left) {
                break;
            }
            let lead = produced - sent.load(SeqCst);
            assert!(lead <= MAX_LEAD_BYTES, "too far ahead");
        }
        progress.end(produced);
        sender.join().expect("it does not panic")
    });
    Shared {
        produced: written.into_inner() / PIECE,
        sent: sent.into_inner() / PIECE,
        has_left: outcome == Err(Stop),
    }
}
