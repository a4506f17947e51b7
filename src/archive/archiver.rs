//! What turns jobs into pieces of an archive, and what a piece is.

use std::sync::Arc;

use crate::{
    buffer::Buffer,
    convert::Converter,
    decode::{Decoder, slot::Allowance},
    emit::{Format, Part, Records},
    odb::{self, pack::Damage},
    plan::{BlobPolicy, Locators, extra::Extra},
    report::Counts,
};

/// The object is in no place that was looked into.
pub(super) const MISSING: Damage = Damage("object does not exist");

/// A piece of the archive on its way to the writer.
#[derive(Default)]
pub struct Piece<R> {
    /// Archive bytes.
    pub(super) part: Part<R>,
    /// What is to be said on stderr before they are written.
    pub(super) log: Buffer,
    /// Lines of the manifest, if there is one.
    pub(super) manifest: Buffer,
    /// What the summary counts.
    pub(super) counts: Counts,
}

/// How far a piece was filled.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    /// Archive bytes.
    pub(super) bytes: usize,
    records: usize,
    /// Bytes of the log.
    pub(super) log: usize,
}

impl<R: Records> Piece<R> {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            bytes: self.part.bytes.len(),
            records: self.part.records.mark(),
            log: self.log.len(),
        }
    }

    /// Forget what came after `mark`.
    pub(super) fn truncate(&mut self, mark: Mark) {
        self.truncate_part(mark);
        self.log.truncate(mark.log);
    }

    /// The same, but what was said remains said.
    pub(super) fn truncate_part(&mut self, mark: Mark) {
        self.part.bytes.truncate(mark.bytes);
        self.part.records.truncate(mark.records);
    }

    pub(super) fn clear(&mut self) {
        self.part.bytes.clear();
        self.part.records.truncate(0);
        self.log.clear();
        self.manifest.clear();
        self.counts = Counts::default();
    }
}

/// Turns jobs into pieces.
pub struct Archiver<F> {
    /// The format.
    pub format: F,
    /// Say where the blobs are.
    pub locators: Locators,
    /// Where to look when an object is not where the plan says.
    pub odb: odb::Config,
    /// Files that are in no tree.
    pub extras: Arc<[Extra]>,
    /// Objects above this many bytes are streamed.
    pub in_memory: u64,
    /// `core.bigFileThreshold`: larger files are not converted.
    pub big_file: u64,
    /// What is wanted of the blobs.
    pub blob_policy: Arc<BlobPolicy>,
    /// Whether size, reason and id of entries are noted in the archive.
    pub pax_notes: bool,
    /// Whether not all that is in a directory may be known.
    pub redacted: bool,
    /// Whether git would have looked for all blobs before its first byte.
    pub verified: bool,
    /// Whether lines of a manifest are wanted.
    pub manifest: bool,
    /// Does what attributes ask for.
    pub converter: Converter,
    /// What decoded delta bases may hold together.
    pub allowance: Arc<Allowance>,
    /// Bytes of any scratch buffer that a thread holds between two jobs.
    pub scratch_max: usize,
    /// Whether the names of entries are told.
    pub verbose: bool,
}

/// What one thread needs.
pub struct Scratch<F: Format> {
    pub(super) decoder: Decoder,
    /// Content that is not archived as it is: link targets, files to be converted.
    pub(super) content: Buffer,
    pub(super) format: F::Scratch,
}

impl<F: Format> Scratch<F> {
    /// Give back what large objects left behind.
    pub(super) fn trim(&mut self, max: usize) {
        self.decoder.trim(max);
        if self.content.capacity() > max {
            self.content = Buffer::default();
        }
    }
}
