//! Recovers an object whose planned location cannot be read, from another copy.
//!
//! Recovery reads the object directories afresh (a repack may have moved everything) and tries every copy
//! of the object: another pack, a loose file. A packed copy is rebuilt from the end of its delta chain
//! upwards. Where a link fails, the other copies of that link are tried, then those of the link above, as
//! git does before it reports damage. Objects of all sizes go the same way: each link lies in a spool, in
//! memory up to a limit. A link cannot fill the disk with a false size, and no copy is tried twice.

use std::{collections::HashSet, sync::Arc};

use gix_hash::ObjectId;
use gix_object::Kind as ObjectKind;

use super::{
    Failure,
    chain::MAX_LINKS,
    stream::{self, Taker},
};
use crate::odb::{
    Config, ObjectLocation, Odb, PackId, loose,
    pack::{Damage, EntryHeader, EntryKind, Pack},
};
use sluice_base::{
    buffer::{Buffer, spool::Spooled},
    io::each_piece,
};

/// The most failed links during the recovery of one object. git makes no longer chains, so every link of a
/// chain may be damaged.
const MAX_FAILED: usize = 4096;
/// The most nested recoveries: a damaged link of a copy that recovers a damaged link, and so on.
const MAX_DEPTH: usize = 32;
/// Bytes read from a spool at once.
const BLOCK_LEN: usize = 64 << 10;

/// A sound copy of an object.
pub struct Copy {
    content: Spooled,
    kind: ObjectKind,
}

impl Copy {
    /// The object's size in bytes.
    pub fn size(&self) -> u64 {
        self.content.size()
    }

    /// Pass the object to `taker`, piece by piece.
    pub fn stream(&self, taker: Taker<'_>) -> Result<(), Failure> {
        let mut block = vec![0; BLOCK_LEN];
        each_piece(self.content.reader(), &mut block, Failure::from, taker)
    }
}

/// Find the first sound copy of `id`, whatever its size, with up to `max_memory` bytes of it in memory. The
/// error is that of the last copy, or `failure` if there is no copy.
pub fn copy(
    config: &Config,
    id: &ObjectId,
    max_memory: u64,
    failure: Failure,
) -> Result<Copy, Failure> {
    Recovery::new(config, max_memory).object(id, u64::MAX, failure)
}

/// Append the first sound copy of `id`, of at most `limit` bytes, to `out` and return its type.
pub fn append(
    config: &Config,
    id: &ObjectId,
    limit: u64,
    out: &mut Buffer,
    failure: Failure,
) -> Result<ObjectKind, Failure> {
    let copy = Recovery::new(config, limit).object(id, limit, failure)?;
    let size = usize::try_from(copy.size()).map_err(|_| Failure::TooLarge)?;
    copy.content.read_exact_at(out.space(size), 0)?;
    Ok(copy.kind)
}

struct Recovery {
    odb: Odb,
    max_memory: usize,
    /// Pack entries that failed or whose recovery is in progress.
    tried: HashSet<(PackId, u64)>,
    failed: usize,
    depth: usize,
    /// The packs that were read, and the total size of all files that were read.
    packs: HashSet<PackId>,
    backing: u64,
}

/// One pack entry of a delta chain.
struct Link {
    /// The location, if the object lies in a pack.
    at: Option<(PackId, u64)>,
    /// The object id, if the entry above names it.
    id: Option<ObjectId>,
    entry: Result<PackEntry, Damage>,
}

/// A pack entry whose header is sound.
struct PackEntry {
    pack: Arc<Pack>,
    header: EntryHeader,
}

impl PackEntry {
    fn stream(&self) -> &[u8] {
        self.pack.stream(self.header.data)
    }

    /// The size of the object in bytes, as the entry claims.
    fn claim(&self) -> Result<u64, Failure> {
        match self.header.kind {
            EntryKind::Object(_) => Ok(self.header.size),
            _ => stream::head(self.stream()).map(|(_, size)| size),
        }
    }
}

impl Link {
    fn entry(&self) -> Result<&PackEntry, Damage> {
        self.entry.as_ref().map_err(|damage| *damage)
    }
}

impl Recovery {
    fn new(config: &Config, max_memory: u64) -> Self {
        Self {
            odb: Odb::open(config.clone()),
            max_memory: usize::try_from(max_memory).unwrap_or(usize::MAX),
            tried: HashSet::new(),
            failed: 0,
            depth: 0,
            packs: HashSet::new(),
            backing: 0,
        }
    }

    /// The first sound copy of `id`, unless the object has more than `limit` bytes.
    fn object(&mut self, id: &ObjectId, limit: u64, failure: Failure) -> Result<Copy, Failure> {
        if self.depth >= MAX_DEPTH || self.failed >= MAX_FAILED {
            return Err(failure);
        }
        self.depth += 1;
        let outcome = self.first_sound(id, limit, failure);
        self.depth -= 1;
        outcome
    }

    fn first_sound(
        &mut self,
        id: &ObjectId,
        limit: u64,
        failure: Failure,
    ) -> Result<Copy, Failure> {
        let mut last = failure;
        for place in self.odb.copies(id) {
            let attempt = match place {
                ObjectLocation::Packed(pack, offset) if self.tried.contains(&(pack, offset)) => {
                    continue;
                }
                ObjectLocation::Packed(pack, offset) => self.packed((pack, offset), limit),
                ObjectLocation::Loose(dir) => self.loose(dir, id, limit),
            };
            match attempt {
                Ok(_) => return attempt,
                // A damaged copy may claim any size, and a copy that is too large may be the sound one.
                Err(_) if matches!(last, Failure::TooLarge) => {}
                Err(failure) => last = self.odb.failed_read().map_or(failure, Failure::Refused),
            }
        }
        Err(last)
    }

    fn loose(&mut self, dir: u32, id: &ObjectId, limit: u64) -> Result<Copy, Failure> {
        let path = self.odb.config().loose_path(dir, id);
        let mut reader = loose::Reader::default();
        let opened = reader.open(&path)?;
        if opened.size > limit {
            return Err(Failure::TooLarge);
        }
        self.backing += opened.file_size();
        let kind = opened.kind;
        let content = stream::spool(opened.size, self.max_memory, |taker| opened.stream(taker))?;
        Ok(Copy { content, kind })
    }

    /// Rebuild the object at `at`, link by link.
    fn packed(&mut self, at: (PackId, u64), limit: u64) -> Result<Copy, Failure> {
        let wanted = self.link(at, None);
        if wanted.entry()?.claim()? > limit {
            return Err(Failure::TooLarge);
        }
        let mut below = self.links_below(&wanted);
        let mut base = Ok(None);
        while let Some(link) = below.pop() {
            let made = base.and_then(|base| self.make(&link, base));
            let recovered = made.or_else(|failure| self.elsewhere(&link, failure));
            base = recovered.map(Some);
        }
        self.make(&wanted, base?)
    }

    /// The links below `link`, down to an undeltified object or to damage.
    fn links_below(&mut self, link: &Link) -> Vec<Link> {
        let mut links = Vec::new();
        let mut next = self.below(link);
        while let Some(link) = next.filter(|_| links.len() < MAX_LINKS) {
            next = self.below(&link);
            links.push(link);
        }
        links
    }

    fn below(&mut self, link: &Link) -> Option<Link> {
        let (pack, _) = link.at?;
        match link.entry().ok()?.header.kind {
            EntryKind::Object(_) => None,
            EntryKind::OfsDelta(base) => Some(self.link((pack, base), None)),
            EntryKind::RefDelta(base) => Some(match self.odb.find(&base) {
                Some(ObjectLocation::Packed(pack, offset)) => self.link((pack, offset), Some(base)),
                _ => Link {
                    at: None,
                    id: Some(base),
                    entry: Err(Damage("delta base is in no pack")),
                },
            }),
        }
    }

    /// The link at `at`. A chain that reaches the same entry twice gets a damaged link.
    fn link(&mut self, at: (PackId, u64), id: Option<ObjectId>) -> Link {
        let entry = if self.tried.insert(at) {
            self.entry(at)
        } else {
            Err(Damage("delta base is damaged"))
        };
        Link {
            at: Some(at),
            id,
            entry,
        }
    }

    fn entry(&mut self, (id, offset): (PackId, u64)) -> Result<PackEntry, Damage> {
        let pack = Arc::clone(self.odb.pack(id).ok_or(Damage("pack has disappeared"))?);
        if self.packs.insert(id) {
            self.backing += pack.size();
        }
        let header = pack.header(offset)?;
        Ok(PackEntry { pack, header })
    }

    /// Decode `link` against its `base`.
    fn make(&mut self, link: &Link, base: Option<Copy>) -> Result<Copy, Failure> {
        let entry = link.entry()?;
        let size = entry.claim()?;
        stream::check_claim(size, self.backing)?;
        let (base, kind) = match (entry.header.kind, base) {
            (EntryKind::Object(kind), _) => (None, kind),
            (_, Some(base)) => (Some(base.content), base.kind),
            (_, None) => return Err(Damage("delta chain is too long").into()),
        };
        let content = stream::spool(size, self.max_memory, |taker| {
            stream::piecewise(entry.stream(), entry.header.size, base, taker)
        })?;
        if let Some(at) = &link.at {
            self.tried.remove(at);
        }
        Ok(Copy { content, kind })
    }

    /// Read the object of the failed `link` from another place.
    fn elsewhere(&mut self, link: &Link, failure: Failure) -> Result<Copy, Failure> {
        self.failed += 1;
        let named = || {
            link.at
                .and_then(|(pack, offset)| self.odb.id_at(pack, offset))
        };
        match link.id.or_else(named) {
            Some(id) if self.failed < MAX_FAILED => self.object(&id, u64::MAX, failure),
            _ => Err(failure),
        }
    }
}
