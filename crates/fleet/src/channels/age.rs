//! The ages that keep apart publishers and `prune`, which removes what no channel lists.
//!
//! A publisher writes an archive, then a channel that lists it. In between, the archive looks like an unused one.
//! Object stores have no locks, and a lock on a directory holds on one machine only, so time has to decide. These rules
//! hold for every bucket:
//!
//! * `prune` removes no archive that is younger than [`LEAST`], and knows all channels as they were within [`CURRENT`].
//! * A publisher lists only archives that were young, by [`YOUNG`], and looks at them again after it has written the
//!   channel. An archive that is missing by then, or is no longer young, is written again.
//!
//! Suppose that a `prune` has read the channels just before the channel was written. It removes within [`CURRENT`] from then, and
//! an archive that the publisher has found in its place is at most twice [`YOUNG`] old: [`LEAST`] is more than both
//! together. The rest, 20 minutes, is for clocks that differ and for the time that an upload takes, since some stores date a
//! file by the beginning of its upload.
//!
//! Whatever comes in between, such as a rule of the store, a publisher that ends well has seen its archives after the channel
//! listed them.

use std::time::{Duration, SystemTime};

/// The least age of archives that are removed.
pub(super) const LEAST: Duration = Duration::from_secs(60 * 60);
/// Up to this age, a publisher lists an archive as it is.
pub(super) const YOUNG: Duration = Duration::from_secs(15 * 60);
/// How long `prune` believes what it has read of the channels.
pub(super) const CURRENT: Duration = Duration::from_secs(10 * 60);

/// Whether `time` is at least `age` ago. A time in the future, from a clock that is ahead, is no age.
pub(super) fn is_past(time: SystemTime, age: Duration) -> bool {
    time.elapsed().is_ok_and(|elapsed| elapsed >= age)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{CURRENT, LEAST, YOUNG, is_past};

    /// The argument at the top, with a quarter of an hour to spare.
    #[test]
    fn what_a_publisher_lists_is_too_young_for_a_prune_under_way() {
        let spare = Duration::from_secs(15 * 60);
        assert!(2 * YOUNG + CURRENT + spare <= LEAST);
    }

    #[test]
    fn the_future_is_no_age() {
        let now = SystemTime::now();
        let hour = Duration::from_secs(3600);
        assert!(is_past(now - hour, hour));
        assert!(!is_past(now - hour, 2 * hour));
        assert!(!is_past(now + hour, Duration::ZERO));
    }
}
