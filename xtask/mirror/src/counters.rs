//! Counters of the requests that a mirror serves.
//!
//! Many threads serve one mirror, so each counter is an atomic number. Counting must not delay a request.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A kind of request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Lookup,
    Getattr,
    Open,
    Readdir,
    Readlink,
    Read,
}

const NAMES: [&str; 6] = ["lookup", "getattr", "open", "readdir", "readlink", "read"];

#[derive(Default)]
pub(crate) struct Counters {
    requests: [AtomicU64; NAMES.len()],
    read_bytes: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
}

impl Counters {
    /// Counts a request that begins, and returns the number of earlier requests of this kind.
    pub(crate) fn begin(&self, kind: Kind) -> u64 {
        let in_flight = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.max_in_flight.fetch_max(in_flight, Relaxed);
        self.requests[kind as usize].fetch_add(1, Relaxed)
    }

    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }

    pub(crate) fn add_read_bytes(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Relaxed);
    }
}

/// As JSON: requests by kind, bytes read, and the largest number of requests at once.
impl fmt::Display for Counters {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("{")?;
        for (name, count) in NAMES.iter().zip(&self.requests) {
            write!(formatter, "\"{name}\":{},", count.load(Relaxed))?;
        }
        let (bytes, most) = (&self.read_bytes, &self.max_in_flight);
        let (bytes, most) = (bytes.load(Relaxed), most.load(Relaxed));
        write!(
            formatter,
            "\"read_bytes\":{bytes},\"max_in_flight\":{most}}}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, Kind};

    #[test]
    fn requests_are_counted_by_kind() {
        let counters = Counters::default();
        assert_eq!(counters.begin(Kind::Read), 0);
        assert_eq!(counters.begin(Kind::Read), 1);
        counters.end();
        counters.add_read_bytes(10);
        assert_eq!(counters.begin(Kind::Open), 0);
        assert_eq!(
            counters.to_string(),
            r#"{"lookup":0,"getattr":0,"open":1,"readdir":0,"readlink":0,"read":2,"read_bytes":10,"max_in_flight":2}"#
        );
    }
}
