//! The slow way to an object that could not be read where the plan found it.
//!
//! Looks at the object directories afresh (a repack may have moved everything) and tries every
//! copy of the object, and of each base it is a delta against: another pack, a loose file. git does
//! the same before it reports damage.

use std::collections::HashSet;

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{Failure, Inflater, chain::MAX_LINKS, delta::Delta, reader::Reader};
use crate::{
    buffer::Buffer,
    odb::{
        Config, Odb, PackId, Place,
        pack::{Damage, EntryHeader, EntryKind},
    },
};

/// More damaged places on the way to one object than this are not worth another look.
const MAX_DAMAGED: usize = 32;

/// Append the first sound copy of `id` of at most `limit` bytes to `out` and say what it is; or
/// fail like the last copy, or with `failure` if there is none.
pub fn copy(
    config: &Config,
    id: &ObjectId,
    limit: u64,
    out: &mut Buffer,
    failure: Failure,
) -> Result<ObjectKind, Failure> {
    let reader = Reader::new(Odb::open(config.clone()));
    Rescue {
        reader,
        limit,
        damaged: Vec::new(),
    }
    .object(id, out, failure)
}

struct Rescue {
    reader: Reader,
    limit: u64,
    /// Where reading failed, not to be tried again.
    damaged: Vec<Place>,
}

impl Rescue {
    fn object(
        &mut self,
        id: &ObjectId,
        out: &mut Buffer,
        failure: Failure,
    ) -> Result<ObjectKind, Failure> {
        let start = out.len();
        let mut last = failure;
        for place in self.reader.odb.copies(id) {
            if self.damaged.contains(&place) || self.damaged.len() > MAX_DAMAGED {
                continue;
            }
            let attempt = match self.reader.read_at(id, place, self.limit, out) {
                Err(Failure::Damaged(_)) => {
                    out.truncate(start);
                    self.mend(place, out)
                }
                attempt => attempt,
            };
            match attempt {
                Ok(kind) => return Ok(kind),
                Err(failure) => last = failure,
            }
            out.truncate(start);
        }
        Err(last)
    }

    /// Rebuild a packed object link by link, with another copy of each link that is damaged.
    fn mend(&mut self, place: Place, out: &mut Buffer) -> Result<ObjectKind, Failure> {
        let mut at = place;
        let mut deltas = Vec::new();
        let mut seen = HashSet::new();
        let (mut content, mut kind) = loop {
            let Place::Packed(pack, offset) = at else {
                break self.elsewhere(at, None)?;
            };
            let header = match self.header(pack, offset) {
                Ok(header) => header,
                Err(_) => break self.elsewhere(at, None)?,
            };
            let base = match header.kind {
                EntryKind::Object(kind) => match self.inflate(pack, &header) {
                    Ok(content) => break (content, kind),
                    Err(_) => break self.elsewhere(at, None)?,
                },
                EntryKind::OfsDelta(base) => Some(Place::Packed(pack, base)),
                EntryKind::RefDelta(base) => match self.reader.odb.find(&base) {
                    Some(packed @ Place::Packed(..)) => Some(packed),
                    Some(loose) => {
                        deltas.push((at, header));
                        break self.elsewhere(loose, Some(base))?;
                    }
                    None => None,
                },
            };
            deltas.push((at, header));
            match base {
                Some(base) if seen.len() < MAX_LINKS && seen.insert(base) => at = base,
                Some(_) => return Err(Damage("delta chain is too long or a cycle").into()),
                None => return Err(Damage("delta base does not exist").into()),
            }
        };
        while let Some((at, header)) = deltas.pop() {
            (content, kind) = match self.apply(at, &header, &content) {
                Ok(result) => (result, kind),
                Err(Failure::Damaged(_)) => self.elsewhere(at, None)?,
                Err(failure) => return Err(failure),
            };
        }
        out.extend(&content);
        Ok(kind)
    }

    /// The object at a damaged `place`, from somewhere else; `id` if it is known already.
    fn elsewhere(
        &mut self,
        place: Place,
        id: Option<ObjectId>,
    ) -> Result<(Buffer, ObjectKind), Failure> {
        let damage = Damage("delta base is damaged, and no other copy is sound");
        let id = match (id, place) {
            (Some(id), _) => Some(id),
            (None, Place::Packed(pack, offset)) => {
                self.damaged.push(place);
                self.reader.odb.id_at(pack, offset)
            }
            (None, Place::Loose(_)) => None,
        };
        let mut content = Buffer::default();
        let kind = self.object(&id.ok_or(damage)?, &mut content, damage.into())?;
        Ok((content, kind))
    }

    fn header(&self, pack: PackId, offset: u64) -> Result<EntryHeader, Damage> {
        self.reader
            .odb
            .pack(pack)
            .ok_or(Damage("pack is gone"))?
            .header(offset)
    }

    fn inflate(&mut self, pack: PackId, header: &EntryHeader) -> Result<Buffer, Failure> {
        if header.size > self.limit {
            return Err(Failure::TooLarge);
        }
        let pack = self.reader.odb.pack(pack).ok_or(Damage("pack is gone"))?;
        let mut content = Buffer::default();
        let size = header.size as usize;
        Inflater::default().whole(pack.stream(header.data), size, &mut content)?;
        Ok(content)
    }

    fn apply(&mut self, at: Place, header: &EntryHeader, base: &[u8]) -> Result<Buffer, Failure> {
        let Place::Packed(pack, _) = at else {
            return Err(Damage("not a pack entry").into());
        };
        let delta = self.inflate(pack, header)?;
        let delta = Delta::parse(&delta)?;
        if delta.size > self.limit {
            return Err(Failure::TooLarge);
        }
        let mut result = Buffer::default();
        delta.apply(base, result.space(delta.size as usize))?;
        Ok(result)
    }
}
