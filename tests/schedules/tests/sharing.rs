//! The producer of the cache and the thread that sends to its client, in many orders: the client gets every byte that it stays
//! for, reads none before it is there, holds the producer back, and nobody waits forever.

use schedules::{
    explore,
    sharing::{Shared, share},
};

/// Schedules of each scheduler.
const SCHEDULES: usize = 300;

#[test]
fn a_client_that_stays_gets_everything() {
    for pieces in [0, 1, 2, 3, 7] {
        explore(SCHEDULES, move || {
            let all = Shared {
                produced: pieces,
                sent: pieces,
                has_left: false,
            };
            assert_eq!(share(pieces, None), all);
        });
    }
}

#[test]
fn a_client_that_leaves_stops_the_producer() {
    for leaves_after in 0..=4 {
        explore(SCHEDULES, move || {
            let shared = share(9, Some(leaves_after));
            assert_eq!((shared.sent, shared.has_left), (leaves_after, true));
            // Two pieces may be ahead, and one is made before the producer looks.
            assert!(shared.produced <= leaves_after + 3, "{shared:?}");
        });
    }
}
