//! The run that a line of a log is about, and files that get such lines.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Serialize, Serializer};

/// The run that a line of a log is about.
#[derive(Clone, Debug, Serialize)]
pub struct RunOrigin {
    /// The time of the start, as in RFC 3339.
    #[serde(serialize_with = "rfc3339")]
    pub time: Timestamp,
    /// The number of the process.
    pub pid: u32,
    /// The git directory, if the repository could be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Whether the archive is for the client of a server.
    pub is_served: bool,
}

/// Writes a time in UTC, with microseconds.
fn rfc3339<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{time:.6}"))
}

/// Opens `path` to append lines to it. A pipe without a reader is an error, because no run waits for one.
pub fn open_log(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.append(true).create(true).custom_flags(flags);
    options.open(path)
}
