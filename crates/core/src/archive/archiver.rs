//! Turns jobs into pieces of an archive.

use std::sync::Arc;

use gix_hash::ObjectId;

use super::{
    donor::{Donation, Donor},
    store::{Store, Stores},
};
use crate::{
    cache::StoredArchive,
    output::report::{Counts, Lines},
    plan::{BlobPolicy, Window, extra::Extra},
};
use sluice_base::buffer::Buffer;
use sluice_format::{Format, Part, Records};
use sluice_git::{
    objects::{Decoder, slot::Allowance},
    tree::TreeRules,
};

/// A piece of the archive on its way to the writer.
#[derive(Default)]
pub struct Piece<R> {
    /// Archive bytes.
    pub(super) part: Part<R>,
    /// Text for stderr, printed before the bytes are written.
    pub(super) log: Buffer,
    /// Lines of the manifest, if there is one.
    pub(super) manifest: Lines,
    /// The files in the piece that the next archive can copy.
    pub(super) donations: Vec<Donation>,
    /// The counts for the summary.
    pub(super) counts: Counts,
}

/// The fill level of a piece.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    /// Archive bytes.
    pub(super) bytes: usize,
    records: usize,
    /// Bytes of the log.
    pub(super) log: usize,
    donations: usize,
}

impl<R: Records> Piece<R> {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            bytes: self.part.bytes.len(),
            records: self.part.records.mark(),
            log: self.log.len(),
            donations: self.donations.len(),
        }
    }

    /// Drop everything after `mark`.
    pub(super) fn truncate(&mut self, mark: Mark) {
        self.truncate_part(mark);
        self.log.truncate(mark.log);
    }

    /// Drop everything after `mark`, except the log.
    pub(super) fn truncate_part(&mut self, mark: Mark) {
        self.part.bytes.truncate(mark.bytes);
        self.part.records.truncate(mark.records);
        self.donations.truncate(mark.donations);
    }

    /// Bytes of the archive in this piece.
    pub(super) fn len(&self) -> u64 {
        self.part.bytes.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.part.bytes.clear();
        self.part.records.truncate(0);
        self.log.clear();
        self.manifest.clear();
        self.donations.clear();
        self.counts = Counts::default();
    }
}

/// Turns jobs into pieces.
pub struct Archiver<F> {
    /// The format.
    pub format: F,
    /// The objects of all repositories.
    pub stores: Stores,
    /// Files outside the tree.
    pub extras: Arc<[Extra]>,
    /// Objects of more bytes than this are streamed.
    pub in_memory: u64,
    /// Decides about blobs.
    pub blob_policy: Arc<BlobPolicy>,
    /// Whether pax records with size, reason and id of entries are written.
    pub pax_notes: bool,
    /// Whether entries may be hidden from the reader.
    pub redacted: bool,
    /// The archived tree, if git looks up all of its files before the first byte, and the rules of reading it.
    pub verified: Option<(ObjectId, TreeRules)>,
    /// Whether lines of a manifest are written.
    pub manifest: bool,
    /// The limit of the bytes in shared delta bases.
    pub allowance: Arc<Allowance>,
    /// The most bytes of a scratch buffer that a thread keeps between two jobs.
    pub scratch_max: usize,
    /// Whether the names of entries are printed.
    pub verbose: bool,
    /// The archive that files are copied from.
    pub donor: Option<Arc<Donor>>,
    /// Whether the next archive may copy from this one.
    pub donates: bool,
}

impl<F> Archiver<F> {
    /// The store with the objects of `window`.
    pub(super) fn store(&self, window: &Window) -> &Store {
        self.stores.get(window.store)
    }
}

/// The state of one thread.
pub struct Scratch<F: Format> {
    pub(super) decoder: Decoder,
    /// Content that is not archived unchanged: link targets, files to be converted.
    pub(super) content: Buffer,
    pub(super) format: F::Scratch,
    /// Reads the donor.
    pub(super) donor: Option<StoredArchive>,
}

impl<F: Format> Scratch<F> {
    /// Free the memory that large objects have left.
    pub(super) fn trim(&mut self, max: usize) {
        self.decoder.trim(max);
        if self.content.capacity() > max {
            self.content = Buffer::default();
        }
    }
}
