//! The manifest: a header, a line for every entry, and a last line that proves completeness.
//!
//! Threads write lines, each next to the piece of the archive with its entry, and the writer outputs them in
//! that order. As far as the system allows, no line is written partially. The last line is written only
//! after the archive is complete.

use std::io::Write;

use serde::Serialize;

use super::{ReportWriter, Status, Subject, Unportable, json::ObjectLine, json_line};
use crate::filter::Disposition;
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
};
use sluice_git::{lfs::Hash, tree::KeptLink};

/// Counts changes that a reader must know of; see `schema/manifest.schema.json`.
const VERSION: u32 = 1;

/// The facts about one entry.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The name in the archive. The name of a directory ends in a slash.
    pub path: &'a [u8],
    /// The path in the archived tree of the submodule that the entry belongs to; empty for an entry of the archived tree.
    pub submodule: &'a [u8],
    /// git's mode: `0o100644`, `0o160000`, …
    pub mode: u32,
    /// The object id in binary. Empty for an entry outside the tree.
    pub id: &'a [u8],
    /// The size of the object in bytes, if known.
    pub size: Option<u64>,
    /// The name of the LFS object that is the content, if one is.
    pub lfs: Option<Hash>,
    /// The decision about the entry.
    pub disposition: Disposition,
    /// Whether the content was decoded, for whatever reason. Only counted.
    pub decoded: bool,
    /// The change since the base, if there is a base.
    pub change: Option<ManifestChange<'a>>,
    /// Whether only the content decides, and it was not read.
    pub undecided: bool,
    /// Why the name breaks on other systems, if anybody has looked.
    pub unportable: &'a [Unportable],
    /// Why a link is no copy, where copies take the place of links.
    pub link: Option<KeptLink>,
}

/// The change of a path, as a line of the manifest has it.
#[derive(Clone, Copy, Debug)]
pub struct ManifestChange<'a> {
    /// The kind of change.
    pub status: Status,
    /// The old mode, and the old id in binary, which is empty if it must not be reported.
    pub old: Option<(u32, &'a [u8])>,
}

impl ManifestChange<'_> {
    fn write(&self, line: &mut ObjectLine<'_>) {
        line.word("status", self.status.as_str());
        if let Some((mode, id)) = self.old {
            line.mode("old_mode", mode);
            line.id("old_id", id);
        }
    }
}

/// Append the line of a deleted path.
pub fn write_deletion(path: &[u8], change: ManifestChange<'_>, out: &mut Buffer) {
    let mut line = ObjectLine::new(out);
    line.text("path", path);
    change.write(&mut line);
    line.end();
}

impl Record<'_> {
    /// Append the line.
    pub fn write(&self, out: &mut Buffer) {
        let mut line = ObjectLine::new(out);
        line.text("path", self.path);
        if !self.submodule.is_empty() {
            line.text("submodule", self.submodule);
        }
        line.mode("mode", self.mode);
        line.id("id", self.id);
        if let Some(size) = self.size {
            line.number("size", size);
        }
        if let Some(lfs) = &self.lfs {
            line.id("lfs", &lfs.0);
        }
        line.word("disposition", self.disposition.as_str());
        if let Some(reason) = self.disposition.reason() {
            line.word("reason", reason.as_str());
        }
        if self.undecided {
            line.flag("undecided", true);
        }
        if let Some(kept) = self.link {
            line.word("link", kept.as_str());
        }
        let unportable = self.unportable.iter().map(|problem| problem.as_str());
        line.words("unportable", unportable);
        if let Some(change) = self.change {
            change.write(&mut line);
        }
        line.end();
    }
}

/// Where an entry is in the archive: bytes, counted from the beginning of the piece of the archive that belongs to the line. An
/// entry that is streamed begins before its last piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPosition {
    /// The first header of the entry.
    pub header: i64,
    /// The first byte and the length of the content, in formats that store it as it is.
    pub content: Option<(i64, u64)>,
}

impl EntryPosition {
    /// Append the fields, for a piece that begins at byte `start` of the archive.
    fn write(&self, start: u64, frame: Option<u64>, out: &mut Buffer) {
        let mut line = ObjectLine::continued(out);
        let header = start.saturating_add_signed(self.header);
        line.number("offset", header);
        if let Some((content, len)) = self.content {
            line.number("data_offset", start.saturating_add_signed(content));
            line.number("data_length", len);
        }
        if let Some(frame) = frame {
            line.number("frame", header / frame);
        }
    }
}

/// Which positions the lines of a manifest tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// None: the archive is compressed as a whole.
    Untold,
    /// Those in the archive.
    InArchive,
    /// Those in the tar, which is compressed in frames of so many bytes each.
    InFrames(u64),
}

/// The lines about a piece of the archive.
#[derive(Default)]
pub struct Lines {
    text: Buffer,
    /// Positions, each with the offset in the text of the end of its line.
    places: Vec<(usize, EntryPosition)>,
}

impl Lines {
    /// Append the line of an entry that is at `place` in the archive, if it is in the archive.
    pub fn add(&mut self, record: &Record<'_>, place: Option<EntryPosition>) {
        record.write(&mut self.text);
        let end = self.text.len() - ObjectLine::END.len();
        self.places.extend(place.map(|place| (end, place)));
    }

    /// Drop all lines.
    pub fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    /// The memory held, in bytes.
    pub fn capacity(&self) -> usize {
        self.text.capacity() + self.places.capacity() * size_of::<(usize, EntryPosition)>()
    }
}

/// What is archived, and by which rules.
#[derive(Serialize)]
pub struct ManifestHeader {
    /// The archived tree.
    #[serde(flatten)]
    pub subject: Subject,
    /// The time of the commit, if there is one, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_time: Option<u64>,
    /// A hash of the options, rules and configuration that select files, in hexadecimal. `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filters: Option<String>,
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    manifest: u32,
    #[serde(flatten)]
    header: &'a ManifestHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_length: Option<u64>,
}

impl<'a> HeaderLine<'a> {
    fn new(header: &'a ManifestHeader, content_length: Option<u64>) -> Self {
        Self {
            manifest: VERSION,
            header,
            content_length,
        }
    }
}

#[derive(Serialize)]
struct End {
    end: bool,
    entries: u64,
}

/// The manifest of an archive that is not made: it tells no positions.
pub struct Listing<'a> {
    out: &'a mut dyn Write,
    entries: u64,
}

impl<'a> Listing<'a> {
    /// Writes the header to `out`, with the `length` of the archive in bytes if it is known.
    pub fn begin(
        out: &'a mut dyn Write,
        header: &ManifestHeader,
        length: Option<u64>,
    ) -> Result<Self> {
        json_line(&HeaderLine::new(header, length), out)?;
        Ok(Self { out, entries: 0 })
    }

    /// Writes whole lines.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        self.entries += count(lines);
        let written = self.out.write_all(lines);
        written.map_err(|error| Error::write(&error))
    }

    /// Writes the last line, after all entries.
    pub fn end(self) -> Result<()> {
        json_line(&End::of(self.entries), self.out)
    }
}

impl End {
    fn of(entries: u64) -> Self {
        Self { end: true, entries }
    }
}

/// The number of `lines`.
fn count(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A manifest in progress.
pub struct Manifest {
    outlet: ReportWriter,
    entries: u64,
    positions: Positions,
    /// The lines that are written next.
    text: Buffer,
}

impl Manifest {
    /// Write the header, with the `length` of the archive in bytes if it is known.
    pub fn begin(
        mut outlet: ReportWriter,
        header: &ManifestHeader,
        length: Option<u64>,
    ) -> Result<Self> {
        outlet.line(&HeaderLine::new(header, length))?;
        Ok(Self {
            outlet,
            entries: 0,
            positions: Positions::InArchive,
            text: Buffer::default(),
        })
    }

    /// Tell these `positions`.
    pub fn tell(&mut self, positions: Positions) {
        self.positions = positions;
    }

    /// Write the lines about a piece that begins at byte `start` of the archive.
    pub fn write_lines(&mut self, lines: &Lines, start: u64) -> Result<()> {
        let frame = match self.positions {
            Positions::Untold => return self.write(&lines.text),
            Positions::InArchive => None,
            Positions::InFrames(bytes) => Some(bytes),
        };
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let mut copied = 0;
        for (end, place) in &lines.places {
            text.extend(&lines.text[copied..*end]);
            place.write(start, frame, &mut text);
            copied = *end;
        }
        text.extend(&lines.text[copied..]);
        let outcome = self.write(&text);
        self.text = text;
        outcome
    }

    /// Write whole lines.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        self.entries += count(lines);
        self.outlet.write(lines)
    }

    /// Write the last line, after all entries, when the archive is complete.
    pub fn end(mut self) -> Result<()> {
        self.outlet.line(&End::of(self.entries))
    }
}
