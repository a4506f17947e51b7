//! A request to the cache, and the account of what the cache did.

use std::{
    io::{self, Write},
    time::Instant,
};

/// What decides the bytes of an archive, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// The key in hexadecimal, which is also the name of its file.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The key as a strong entity tag (RFC 9110, section 8.8.3).
    pub fn etag(&self) -> String {
        format!("\"{}\"", self.hex())
    }

    /// Whether `tag`, the value of `If-Range` (RFC 9110, section 13.1.5), names this key.
    pub fn is(&self, tag: &str) -> bool {
        tag == self.etag() || tag == self.hex()
    }

    /// Whether `tags`, the value of `If-None-Match` (RFC 9110, section 13.1.2), name this key.
    pub fn is_among(&self, tags: &str) -> bool {
        tags.split(',').map(str::trim).any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || self.is(tag)
        })
    }
}

/// Makes an archive: writes all of it, and returns notes that go with the archive to every reader.
pub trait Produce<E>: FnOnce(&mut (dyn Write + Send)) -> Result<Vec<u8>, E> {}

impl<E, F: FnOnce(&mut (dyn Write + Send)) -> Result<Vec<u8>, E>> Produce<E> for F {}

/// A request to the cache.
pub struct CacheRequest<'a> {
    /// The key of the archive, or the reason why it has none.
    pub key: Result<Key, String>,
    /// The archives that may have the same files: the next one of them can find this one.
    pub family: Option<Key>,
    /// Whether notes are those of an archive of this program. If not, the archive is made again.
    pub is_readable: &'a dyn Fn(&[u8]) -> bool,
    /// Whether all that was written so far, and the next write, follow from the key alone. Once false, always false.
    pub is_shareable: &'a (dyn Fn() -> bool + Sync),
    /// When the time of the request is over: the end of waiting and of reading. `produce` looks at the clock itself.
    pub end: Option<Instant>,
}

/// The part of one process in the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The archive was complete already.
    Hit,
    /// Another process produced the archive meanwhile.
    Follow,
    /// This process produced the archive, for others as well.
    Producer,
    /// This process produced the archive for its own client alone.
    #[default]
    Bypass,
}

/// What a request had to do with the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Account {
    /// The part that this process had at the end.
    pub role: Role,
    /// Why the cache was bypassed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the directory cannot be used at all.
    #[serde(skip)]
    pub is_unusable: bool,
    /// The key in hexadecimal, if the archive has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Bytes that this process produced.
    pub produced: u64,
    /// Bytes that the client of this process received.
    pub served: u64,
    /// Whether files were copied from an earlier archive: `used`, or `damaged`, if it turned out to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donor: Option<&'static str>,
}

/// Why an archive was not delivered.
#[derive(Debug)]
pub enum Failure<E> {
    /// The producer failed.
    Producer(E),
    /// The client cannot be written to.
    Client(io::Error),
    /// A second production of the archive differs from the part that the client has.
    Differs,
    /// The archive cannot be in the directory, for this reason, and no client takes it.
    Bypass(String),
    /// The time of the request is over.
    Late,
    /// There was no turn to produce within the time of [`Settings::wait`](super::Settings::wait).
    Busy,
}
