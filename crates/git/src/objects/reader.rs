//! Reads whole objects by id, for the planner: commits, tags, trees, attribute files.
//!
//! A reader follows replacements, tries every copy before it fails, and refuses objects that are too large
//! for any of these types. The blobs of the archive take another way: the plan locates them, and many
//! threads decode them.

use gix_hash::{ObjectId, oid};
use gix_object::Kind as ObjectKind;

use super::{
    Decoder, Failure,
    chain::ChainBuilder,
    recovery,
    slot::Allowance,
    stream,
    wanted::{MissingObjects, Role},
};
use crate::odb::{ObjectLocation, Odb, PackId, loose, pack::Damage};
use sluice_base::buffer::Buffer;

/// The largest commit, tree or attribute file in bytes. git ignores larger attribute files.
pub const MAX_CONTROL_SIZE: u64 = 100 << 20;

/// Scratch memory held between two objects, in bytes.
const SCRATCH_MAX: usize = 1 << 20;
/// Bytes of recent bases held between two objects.
const RECENT_MAX: usize = 1 << 20;

/// Reads whole objects from an object database.
pub struct Reader {
    /// The object database.
    pub odb: Odb,
    decoder: Decoder,
    chains: ChainBuilder,
    wanted: Option<MissingObjects>,
}

/// Another reader of the same objects, for another thread.
impl Clone for Reader {
    fn clone(&self) -> Self {
        self.with_odb(self.odb.clone())
    }
}

impl Reader {
    /// Read from `odb`.
    pub fn new(odb: Odb) -> Self {
        Self {
            odb,
            decoder: Decoder::new(Allowance::new(0)).with_recent(RECENT_MAX),
            chains: ChainBuilder::default(),
            wanted: None,
        }
    }

    /// A reader of the objects in `odb`, with missing objects noted as by this one.
    pub fn with_odb(&self, odb: Odb) -> Self {
        Self {
            wanted: self.wanted.clone(),
            ..Self::new(odb)
        }
    }

    /// A reader that records missing objects in `wanted` and treats a missing tree as empty, so that one
    /// walk finds everything that is missing. Never archive with it.
    pub fn recording_missing(mut self, wanted: &MissingObjects) -> Self {
        self.wanted = Some(wanted.clone());
        self
    }

    /// A reader for which a missing object is a failure.
    pub fn failing_on_missing(mut self) -> Self {
        self.wanted = None;
        self
    }

    /// The list of missing objects, if they are listed and not fetched.
    pub fn missing_list(&self) -> Option<&MissingObjects> {
        self.wanted.as_ref().filter(|wanted| !wanted.may_fetch())
    }

    /// Whether missing objects are noted.
    pub fn notes_missing(&self) -> bool {
        self.wanted.is_some()
    }

    /// Whether missing objects may be fetched after they are noted.
    pub fn may_fetch(&self) -> bool {
        self.wanted.as_ref().is_some_and(MissingObjects::may_fetch)
    }

    /// Note that `id` (or its replacement) is missing, which has this role.
    pub fn note_missing(&self, id: &oid, role: impl FnOnce() -> Role) {
        if let (Some(wanted), Ok(id)) = (&self.wanted, self.odb.config().replaced(id)) {
            wanted.add(id, role());
        }
    }

    /// Replace the contents of `out` by the object `id` (or its replacement) and return its type. `None` if
    /// the object does not exist.
    pub fn read(&mut self, id: &oid, out: &mut Buffer) -> Result<Option<ObjectKind>, Failure> {
        let replaced = self.odb.config().replaced(id);
        let id = replaced.map_err(Failure::Refused)?;
        out.clear();
        // git knows the empty tree without storing it.
        if id == ObjectId::empty_tree(id.kind()) {
            return Ok(Some(ObjectKind::Tree));
        }
        if let Some(made) = self.odb.config().made.get(&id) {
            out.extend(&made);
            return Ok(Some(ObjectKind::Tree));
        }
        let Some(place) = self.odb.find(&id) else {
            if let Some(wanted) = &self.wanted {
                wanted.add(id, Role::Unknown);
            }
            return Ok(None);
        };
        match self.read_at(&id, place, MAX_CONTROL_SIZE, out) {
            Ok(kind) => Ok(Some(kind)),
            Err(failure) => {
                out.clear();
                let failure = self.odb.failed_read().map_or(failure, Failure::Refused);
                let config = self.odb.config();
                recovery::append(config, &id, MAX_CONTROL_SIZE, out, failure).map(Some)
            }
        }
    }

    /// Read the object `id` (or its replacement) to its end, whatever its size, and return the size in
    /// bytes. `out` holds the object if the object has fewer than `limit` bytes.
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

    /// The type of the object `id`. `None` if the object does not exist.
    pub fn kind(&mut self, id: &oid) -> Result<Option<ObjectKind>, Failure> {
        self.read(id, &mut Buffer::default())
    }

    /// Append the object `id`, of at most `limit` bytes, from `place` only.
    pub fn read_at(
        &mut self,
        id: &ObjectId,
        place: ObjectLocation,
        limit: u64,
        out: &mut Buffer,
    ) -> Result<ObjectKind, Failure> {
        let kind = match place {
            ObjectLocation::Packed(pack, offset) => self.packed(pack, offset, limit, out),
            ObjectLocation::Loose(dir) => {
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
        place: ObjectLocation,
        taker: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match place {
            ObjectLocation::Packed(pack, offset) => {
                let mut chains = ChainBuilder::default();
                let node = chains.add(&mut self.odb, pack, offset)?;
                stream::packed(&chains.finish(), node, taker)
            }
            ObjectLocation::Loose(dir) => {
                let path = self.odb.config().loose_path(dir, id);
                loose::Reader::default().open(&path)?.stream(taker)
            }
        }
    }
}

/// Count the bytes of an object, and append them to `out` as long as there are fewer than `limit`.
fn taker<'a>(
    limit: u64,
    size: &'a mut u64,
    out: &'a mut Buffer,
) -> impl FnMut(&[u8]) -> Result<(), Failure> {
    move |piece| {
        *size += piece.len() as u64;
        if *size < limit {
            out.extend(piece)
        } else {
            out.clear()
        }
        Ok(())
    }
}
