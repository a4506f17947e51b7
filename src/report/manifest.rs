//! The manifest: a header, a line for every entry, and a last line that proves completeness.
//!
//! Threads write lines, each beside the piece of the archive with its entry, and the writer outputs them in
//! that order. As far as the system allows, no line is written partially. The last line is written only
//! after the complete archive.

use serde::Serialize;

use super::{Outlet, Status, Subject, json};
use crate::{buffer::Buffer, error::Result, filter::Disposition};

/// Counts changes that a reader must know of; see `schema/manifest.schema.json`.
const VERSION: u32 = 1;

/// The facts about one entry.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The name in the archive. The name of a directory ends in a slash.
    pub path: &'a [u8],
    /// git's mode: `0o100644`, `0o160000`, …
    pub mode: u32,
    /// The object id in binary. Empty for an entry outside the tree.
    pub id: &'a [u8],
    /// The size of the object in bytes, if known.
    pub size: Option<u64>,
    /// The decision about the entry.
    pub disposition: Disposition,
    /// Whether the content was decoded, for whatever reason. Only counted.
    pub decoded: bool,
    /// The change since the base, if there is a base.
    pub past: Option<Past<'a>>,
}

/// The change of a path.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// The kind of change.
    pub status: Status,
    /// The old mode, and the old id in binary, which is empty if it must not be reported.
    pub old: Option<(u32, &'a [u8])>,
}

impl Past<'_> {
    fn write(&self, out: &mut Buffer) {
        out.extend(b",\"status\":\"");
        out.extend(self.status.as_str().as_bytes());
        if let Some((mode, id)) = self.old {
            out.extend(b"\",\"old_mode\":\"");
            json::number::<8>(mode.into(), 6, out);
            if !id.is_empty() {
                out.extend(b"\",\"old_id\":\"");
                json::hex(id, out);
            }
        }
        out.extend(b"\"");
    }
}

/// Append the line of a deleted path.
pub fn gone(path: &[u8], past: Past<'_>, out: &mut Buffer) {
    name(path, out);
    past.write(out);
    out.extend(b"}\n");
}

/// Append the beginning of a line.
fn name(path: &[u8], out: &mut Buffer) {
    match std::str::from_utf8(path) {
        Ok(path) => {
            out.extend(b"{\"path\":");
            json::string(path, out);
        }
        Err(_) => {
            out.extend(b"{\"path_base64\":\"");
            json::base64(path, out);
            out.extend(b"\"");
        }
    }
}

impl Record<'_> {
    /// Append the line.
    pub fn write(&self, out: &mut Buffer) {
        name(self.path, out);
        out.extend(b",\"mode\":\"");
        json::number::<8>(self.mode.into(), 6, out);
        if !self.id.is_empty() {
            out.extend(b"\",\"id\":\"");
            json::hex(self.id, out);
        }
        out.extend(b"\"");
        if let Some(size) = self.size {
            out.extend(b",\"size\":");
            json::number::<10>(size, 1, out);
        }
        out.extend(b",\"disposition\":\"");
        out.extend(self.disposition.as_str().as_bytes());
        if let Some(reason) = self.disposition.reason() {
            out.extend(b"\",\"reason\":\"");
            out.extend(reason.as_str().as_bytes());
        }
        out.extend(b"\"");
        if let Some(past) = self.past {
            past.write(out);
        }
        out.extend(b"}\n");
    }
}

#[derive(Serialize)]
struct Header<'a> {
    manifest: u32,
    #[serde(flatten)]
    subject: &'a Subject,
}

#[derive(Serialize)]
struct End {
    end: bool,
    entries: u64,
}

/// A manifest in progress.
pub struct Manifest {
    outlet: Outlet,
    entries: u64,
}

impl Manifest {
    /// Write the header.
    pub fn begin(mut outlet: Outlet, subject: &Subject) -> Result<Self> {
        outlet.line(&Header {
            manifest: VERSION,
            subject,
        })?;
        Ok(Self { outlet, entries: 0 })
    }

    /// Write whole lines from [`Record::write`].
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        self.entries += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.outlet.write(lines)
    }

    /// Write the last line, after all entries and the complete archive.
    pub fn end(mut self) -> Result<()> {
        self.outlet.line(&End {
            end: true,
            entries: self.entries,
        })
    }
}
