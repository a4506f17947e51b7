//! The object database: locates objects in packs, multi-pack indices, loose files and alternates, and
//! resolves replacements.
//!
//! An [`Odb`] belongs to one thread, so it remembers without a lock which source had the last object. Its
//! clones share the mapped files. It never reads an object's content and never talks to a remote. The
//! lookup order is git's: packs, loose objects, then packs once more in case of a repack in between.

mod abbreviation;
mod ahead;
mod dirs;
pub mod faults;
mod index;
mod listing;
pub mod loose;
mod loose_ahead;
pub(crate) mod map;
mod multi_index;
pub mod pack;
mod made_trees;
mod replacements;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use gix_hash::{Kind, ObjectId, oid};

pub use dirs::object_dirs;
use index::Index;
pub use listing::YOUNG;
use loose::FanOut;
pub use loose_ahead::is_file_in_memory;
pub use made_trees::MadeTrees;
use map::{Map, cannot_be};
use pack::Pack;
pub use replacements::Replacements;
use sluice_base::error::Error;
pub use source::PackId;
use source::{Opened, PackFile, PackSource, SourceKind, refusal};

/// As many objects are looked for one by one among loose files.
const FEW: usize = 64;

/// The location of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectLocation {
    /// A pack, and the offset in the pack.
    Packed(PackId, u64),
    /// The loose file in this object directory.
    Loose(u32),
}

/// The settings of an object database.
#[derive(Clone)]
pub struct Config {
    /// Every object directory, in lookup order (see [`object_dirs`]).
    pub dirs: Vec<PathBuf>,
    /// Whether an alternate is not among them: one that is missing, or that is the same directory as another.
    pub omits_dirs: bool,
    /// The hash function of object ids.
    pub hash: Kind,
    /// Whether multi-pack indices may be used (`core.multiPackIndex`).
    pub multi_pack_index: bool,
    /// The objects that replace others.
    pub replacements: Replacements,
    /// Whether a remote has promised the objects that are missing.
    pub is_partial: bool,
    /// Trees that the run has made.
    pub made: Arc<MadeTrees>,
}

impl Config {
    /// The file of the loose object `id` in the object directory number `dir`.
    pub fn loose_path(&self, dir: u32, id: &oid) -> PathBuf {
        loose::path(&self.dirs[dir as usize], id)
    }

    /// The `error` of a missing object, with advice for a partial clone.
    pub fn missing(&self, error: Error) -> Error {
        if self.is_partial {
            error.hinted("--missing=fetch fetches what a partial clone lacks of an archive")
        } else {
            error
        }
    }

    /// The replacement of `id` (`git replace`), or `id` itself.
    pub fn replaced(&self, id: &oid) -> Result<ObjectId, Error> {
        self.replacements.of(id)
    }
}

/// The objects of a repository.
#[derive(Clone)]
pub struct Odb {
    config: Arc<Config>,
    sources: Vec<Arc<PackSource>>,
    /// The indices of packs that a multi-pack index covers. They are searched last, in case that index is
    /// damaged.
    covered: Vec<Arc<PackSource>>,
    packs: Vec<Arc<PackFile>>,
    /// The source of the last object. The next object is likely in the same source.
    recent: usize,
    /// The modification time of each `pack` directory: only a changed directory is listed again.
    stamps: Vec<Option<SystemTime>>,
    /// When the directories were listed.
    listed: SystemTime,
    /// Whether a missing object may be in a file that the system refused to map.
    missed: bool,
    /// The most bytes that are asked for at once, if objects are read ahead.
    ahead: Option<u64>,
    /// The most bytes of an index that is asked for as a whole, if most objects are wanted.
    expects_most: Option<u64>,
    /// An existing pack directory or loose object to which the system denied access, and the error.
    denied: Option<Arc<(PathBuf, io::Error)>>,
}

impl Odb {
    /// The settings of this database.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sees the trees that are `made` from here on.
    pub fn see(&mut self, made: &Arc<MadeTrees>) {
        Arc::make_mut(&mut self.config).made = Arc::clone(made);
    }

    /// The number of packs.
    pub fn pack_count(&self) -> usize {
        self.packs.len()
    }

    /// Find `id` itself, ignoring replacements.
    pub fn find(&mut self, id: &oid) -> Option<ObjectLocation> {
        if let Some(place) = self.find_once(id) {
            return Some(place);
        }
        let is_new = self.refresh();
        self.find_again(id, is_new)
    }

    /// Find `id`, which was not found, among packs that are new (if `is_new`) or covered.
    fn find_again(&mut self, id: &oid, is_new: bool) -> Option<ObjectLocation> {
        let place = is_new.then(|| self.find_once(id)).flatten();
        let place = place.or_else(|| self.covered.iter().find_map(|it| self.find_in(it, id)));
        self.missed |= place.is_none() && self.refused().is_some();
        place
    }

    /// Find each of `ids` itself, in their order. Faster than single lookups where the objects lie in one
    /// pack. The headers of the entries are then in the processor's cache.
    pub fn find_all(&mut self, ids: &[ObjectId], places: &mut Vec<Option<ObjectLocation>>) {
        places.clear();
        if let Some((id, pack, offsets)) = self.lookup_recent(ids) {
            pack.touch(offsets.iter().flatten());
            let place = |offset| ObjectLocation::Packed(id, offset);
            places.extend(offsets.into_iter().map(|found| found.map(place)));
        }
        places.resize(ids.len(), None);
        // In a partial clone many are missing. One list of directories is then cheaper than a look for each object.
        let unknown = places.iter().filter(|place| place.is_none()).count();
        let fan_out = (unknown > FEW).then(|| FanOut::of(&self.config.dirs));
        for (id, place) in ids.iter().zip(&mut *places) {
            if place.is_none() {
                let may_be_loose = fan_out.as_ref().is_none_or(|it| it.may_hold(id));
                *place = if may_be_loose {
                    self.find_once(id)
                } else {
                    self.find_in_packs(id)
                };
            }
        }
        if places.iter().all(Option::is_some) {
            return;
        }
        let is_new = self.refresh();
        for (id, place) in ids.iter().zip(places) {
            if place.is_none() {
                *place = self.find_again(id, is_new);
            }
        }
    }

    /// The error of a refused access, if an object that was not found may exist all the same, or if bytes of a pack or an
    /// index could not be read, so that nothing read since then is to be believed.
    pub fn refusal(&self) -> Option<Error> {
        if let Some(failure) = self.failed_read() {
            return Some(failure);
        }
        let (path, error) = self.refused().filter(|_| self.missed)?;
        let failed = match error.kind() {
            io::ErrorKind::OutOfMemory => "mapped",
            _ => "accessed",
        };
        Some(cannot_be(failed, path, error))
    }

    /// The error of a read of a mapped file that has failed.
    pub fn failed_read(&self) -> Option<Error> {
        let indices = self.sources.iter().chain(&self.covered);
        let indices = indices.filter_map(|source| Some(source.table()?.map()));
        let packs = self.packs.iter().filter_map(|file| file.map());
        indices.chain(packs).find_map(Map::failure)
    }

    /// A file or directory that exists, but that the system refused to map or list.
    fn refused(&self) -> Option<(&Path, &io::Error)> {
        if let Some((path, error)) = self.denied.as_deref() {
            return Some((path, error));
        }
        let sources = self.sources.iter().chain(&self.covered);
        let indices = sources.filter_map(|source| match &source.kind {
            SourceKind::Single(index, _) => refusal(&source.path, index),
            SourceKind::Multi(..) => None,
        });
        let packs = self.packs.iter();
        indices
            .chain(packs.filter_map(|file| refusal(&file.path, &file.pack)))
            .next()
    }

    /// Every copy of `id`, in lookup order, for recovery from damage.
    pub fn copies(&mut self, id: &oid) -> Vec<ObjectLocation> {
        let mut places = Vec::new();
        for source in self.sources.iter().chain(&self.covered) {
            let place = self.find_in(source, id);
            places.extend(place.filter(|place| !places.contains(place)));
        }
        places.extend(self.find_loose(id));
        places
    }

    /// The id of the object at `offset` of `pack`, by a search of all entries.
    pub fn id_at(&self, pack: PackId, offset: u64) -> Option<ObjectId> {
        let at_offset = |source: &Arc<PackSource>| match &source.kind {
            SourceKind::Single(index, id) if *id == pack => {
                self.index(&source.path, index)?.id_at(offset)
            }
            SourceKind::Multi(index, packs) => {
                index.id_at(packs.iter().position(|id| *id == pack)?, offset)
            }
            SourceKind::Single(..) => None,
        };
        let mut sources = self.covered.iter().chain(&self.sources);
        sources.find_map(at_offset)
    }

    /// The mapped pack `id`. `None` if the pack is missing or damaged.
    pub fn pack(&self, id: PackId) -> Option<&Arc<Pack>> {
        // The pack was found through a multi-pack index, which holds no checksum of the pack.
        self.packs[id.0 as usize].open(self.config.hash, None)
    }

    /// Release the memory of pages read from packs. The packs stay mapped.
    pub fn release_packs(&self) {
        self.packs
            .iter()
            .filter_map(|file| file.pack.get()?.as_ref().ok())
            .for_each(|pack| pack.release());
    }

    fn find_once(&mut self, id: &oid) -> Option<ObjectLocation> {
        self.find_in_packs(id).or_else(|| self.find_loose(id))
    }

    fn find_in_packs(&mut self, id: &oid) -> Option<ObjectLocation> {
        if let Some(place) = self.find_packed(self.recent, id) {
            return Some(place);
        }
        for at in 0..self.sources.len() {
            if at == self.recent {
                continue;
            }
            if let Some(place) = self.find_packed(at, id) {
                self.recent = at;
                return Some(place);
            }
        }
        None
    }

    fn find_packed(&self, at: usize, id: &oid) -> Option<ObjectLocation> {
        self.find_in(self.sources.get(at)?, id)
    }

    fn find_in(&self, source: &PackSource, id: &oid) -> Option<ObjectLocation> {
        match &source.kind {
            SourceKind::Single(index, pack) => {
                let is_new = index.get().is_none();
                let index = self.index(&source.path, index)?;
                if is_new {
                    self.ask_for_first(index.table(), id);
                }
                let offset = index.lookup(id)?;
                self.pack_of(index, *pack)?;
                Some(ObjectLocation::Packed(*pack, offset))
            }
            SourceKind::Multi(index, packs) => {
                let (pack, offset) = index.lookup(id)?;
                let pack = packs[pack];
                self.pack(pack)?;
                Some(ObjectLocation::Packed(pack, offset))
            }
        }
    }

    /// The index at `path`, opened on first use. Its pack is opened when a wanted object is in the index.
    fn index<'a>(&self, path: &Path, index: &'a OnceLock<Opened<Index>>) -> Option<&'a Index> {
        let open = || Ok(Index::open(path, self.config.hash)?);
        index.get_or_init(open).as_ref().ok()
    }

    /// The pack `id`, which must match its `index`.
    fn pack_of(&self, index: &Index, id: PackId) -> Option<&Arc<Pack>> {
        self.packs[id.0 as usize].open(self.config.hash, Some(index))
    }

    /// The pack of the last object, and the offset of each of `ids` in this pack. `None` if it contains
    /// none of them, or if a multi-pack index covers it.
    fn lookup_recent(&self, ids: &[ObjectId]) -> Option<(PackId, &Pack, Vec<Option<u64>>)> {
        let source = self.sources.get(self.recent)?;
        let SourceKind::Single(index, id) = &source.kind else {
            return None;
        };
        let index = self.index(&source.path, index)?;
        let offsets = index.lookup_all(ids);
        offsets.iter().flatten().next()?;
        Some((*id, self.pack_of(index, *id)?, offsets))
    }

    /// The first file of the loose object `id`. An empty one, as a crash leaves it, counts only if there is no other.
    fn find_loose(&mut self, id: &oid) -> Option<ObjectLocation> {
        let config = Arc::clone(&self.config);
        let mut empty = None;
        for (number, dir) in config.dirs.iter().enumerate() {
            let path = loose::path(dir, id);
            let location = ObjectLocation::Loose(number as u32);
            match std::fs::metadata(&path) {
                Ok(found) if found.len() > 0 => return Some(location),
                Ok(_) => empty = empty.or(Some(location)),
                Err(error) => self.note_denied(path, error),
            }
        }
        empty
    }

    /// Remember that access to `path` failed, unless nothing is there.
    fn note_denied(&mut self, path: PathBuf, error: io::Error) {
        if !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ) {
            self.denied = Some(Arc::new((path, error)));
        }
    }
}
