//! Whole objects by id, for the planner: commits, tags, trees, attribute files.
//!
//! Follows replacements, looks into every copy before it gives up, and refuses what is too large
//! to be any of these. Not for the blobs of the archive: those are located first and decoded by
//! many threads.

use gix::{ObjectId, hash::oid, objs::Kind as ObjectKind};

use super::{
    Decoder, Failure,
    chain::{Allowance, ChainBuilder},
    rescue,
};
use crate::{
    buffer::Buffer,
    odb::{Odb, Place},
};

/// No commit, tree or attribute file has more bytes than this; git ignores attribute files above.
pub const MAX_CONTROL_SIZE: u64 = 100 << 20;

/// Scratch memory held between two objects, in bytes.
const SCRATCH_MAX: usize = 1 << 20;
/// Bytes of objects that others were made from, held in case more are.
const RECENT_MAX: usize = 1 << 20;

/// Reads whole objects from an object database.
pub struct Reader {
    /// Where the objects lie.
    pub odb: Odb,
    decoder: Decoder,
    chains: ChainBuilder,
}

impl Reader {
    /// Read from `odb`.
    pub fn new(odb: Odb) -> Self {
        Self {
            odb,
            decoder: Decoder::new(Allowance::new(0)).with_recent(RECENT_MAX),
            chains: ChainBuilder::default(),
        }
    }

    /// Another one for the same objects, for another thread.
    pub fn another(&self) -> Self {
        Self::new(self.odb.clone())
    }

    /// Replace the contents of `out` by those of the object `id` (or its replacement) and say what
    /// it is; nothing if it does not exist.
    pub fn read(&mut self, id: &oid, out: &mut Buffer) -> Result<Option<ObjectKind>, Failure> {
        let replaced = self.odb.config().replaced(id);
        let id = replaced.map_err(Failure::Refused)?;
        out.clear();
        // The one object that git knows without storing it.
        if id == ObjectId::empty_tree(id.kind()) {
            return Ok(Some(ObjectKind::Tree));
        }
        let Some(place) = self.odb.find(&id) else {
            return Ok(None);
        };
        match self.read_at(&id, place, MAX_CONTROL_SIZE, out) {
            Ok(kind) => Ok(Some(kind)),
            Err(failure @ Failure::TooLarge) => Err(failure),
            Err(failure) => {
                out.clear();
                let config = self.odb.config();
                rescue::copy(config, &id, MAX_CONTROL_SIZE, out, failure).map(Some)
            }
        }
    }

    /// What the object `id` is; nothing if it does not exist.
    pub fn kind(&mut self, id: &oid) -> Result<Option<ObjectKind>, Failure> {
        self.read(id, &mut Buffer::default())
    }

    /// Append the object `id`, of at most `limit` bytes, from `place` and nowhere else.
    pub fn read_at(
        &mut self,
        id: &ObjectId,
        place: Place,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<ObjectKind, Failure> {
        self.decoder.trim(SCRATCH_MAX);
        match place {
            Place::Packed(pack, offset) => {
                let node = self.chains.add(&mut self.odb, pack, offset)?;
                let chains = self.chains.finish();
                self.decoder.packed(&chains, node, limit, out)?;
                Ok(chains.node(node).kind)
            }
            Place::Loose(dir) => {
                let path = self.odb.config().loose_path(dir, id);
                self.decoder.loose(&path, limit, out)
            }
        }
    }
}
