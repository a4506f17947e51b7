//! Whole objects by id, for the planner: commits, tags, trees, attribute files.
//!
//! Follows replacements, looks into every copy before it gives up, and refuses what is too large
//! to be any of these. Not for the blobs of the archive: those are located first and decoded by
//! many threads.

use gix::{ObjectId, hash::oid, objs::Kind as ObjectKind};

use super::{Decoder, Failure, chain::ChainBuilder, recovery, slot::Allowance, stream};
use crate::{
    buffer::Buffer,
    odb::{Odb, PackId, Place, loose, pack::Damage},
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
            Err(failure) => {
                out.clear();
                let config = self.odb.config();
                recovery::append(config, &id, MAX_CONTROL_SIZE, out, failure).map(Some)
            }
        }
    }

    /// Read the object `id` (or its replacement) to its end, whatever its size, and say how many bytes
    /// it has. They are in `out` if they are fewer than `limit`.
    pub fn read_to_end(&mut self, id: &oid, limit: u64, out: &mut Buffer) -> Result<u64, Failure> {
        let replaced = self.odb.config().replaced(id);
        let id = replaced.map_err(Failure::Refused)?;
        let missing = Damage("object does not exist");
        let place = self.odb.find(&id).ok_or(missing)?;
        let mut size = 0;
        out.clear();
        let planned = self.stream_at(&id, place, &mut taker(limit, &mut size, out));
        let Err(failure) = planned else {
            return Ok(size);
        };
        let copy = recovery::copy(self.odb.config(), &id, limit, failure)?;
        size = 0;
        out.clear();
        copy.stream(&mut taker(limit, &mut size, out))?;
        Ok(size)
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
        let kind = match place {
            Place::Packed(pack, offset) => self.packed(pack, offset, limit, out),
            Place::Loose(dir) => {
                let path = self.odb.config().loose_path(dir, id);
                self.decoder.loose(&path, limit, out)
            }
        };
        self.decoder.trim(SCRATCH_MAX);
        kind
    }

    fn packed(
        &mut self,
        pack: PackId,
        offset: u64,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<ObjectKind, Failure> {
        let node = self.chains.add(&mut self.odb, pack, offset)?;
        let chains = self.chains.finish();
        self.decoder.packed(&chains, node, limit, out)?;
        Ok(chains.node(node).kind)
    }

    fn stream_at(
        &mut self,
        id: &ObjectId,
        place: Place,
        taker: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match place {
            Place::Packed(pack, offset) => {
                let mut chains = ChainBuilder::default();
                let node = chains.add(&mut self.odb, pack, offset)?;
                stream::packed(&chains.finish(), node, taker)
            }
            Place::Loose(dir) => {
                let path = self.odb.config().loose_path(dir, id);
                loose::Reader::default().open(&path)?.stream(taker)
            }
        }
    }
}

/// Counts the bytes of an object, and appends them to `out` as long as they are fewer than `limit`.
fn taker<'a>(
    limit: u64,
    size: &'a mut u64,
    out: &'a mut Buffer,
) -> impl FnMut(&[u8]) -> Result<(), Failure> {
    move |piece| {
        *size += piece.len() as u64;
        match *size < limit {
            true => out.extend(piece),
            false => out.clear(),
        }
        Ok(())
    }
}
