//! The object database: locates objects in packs, multi-pack indices, loose files and alternates, and
//! resolves replacements.
//!
//! An [`Odb`] belongs to one thread, so it remembers without a lock which source had the last object. Its
//! clones share the mapped files. It never reads an object's content and never talks to a remote. The
//! lookup order is git's: packs, loose objects, then packs once more in case of a repack in between.

mod dirs;
mod index;
pub mod loose;
mod map;
pub mod pack;
mod replacements;
#[cfg(test)]
mod tests;

use std::{
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use gix::{
    ObjectId,
    hash::{Kind, oid},
    odb::pack::multi_index,
};

use crate::error::{Error, filled, strerror};
pub use dirs::object_dirs;
use index::Index;
use loose::FanOut;
use pack::Pack;
pub use replacements::Replacements;

/// As many objects are looked for one by one among loose files.
const FEW: usize = 64;

/// The number of a pack within its [`Odb`], valid for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackId(pub u32);

/// The location of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
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
    /// The hash function of object ids.
    pub hash: Kind,
    /// Whether multi-pack indices may be used (`core.multiPackIndex`).
    pub multi_pack_index: bool,
    /// The objects that replace others.
    pub replacements: Replacements,
    /// Whether a remote has promised the objects that are missing.
    pub is_partial: bool,
}

impl Config {
    /// The file of the loose object `id` in the object directory number `dir`.
    pub fn loose_path(&self, dir: u32, id: &oid) -> PathBuf {
        loose::path(&self.dirs[dir as usize], id)
    }

    /// The `error` of a missing object, with advice for a partial clone.
    pub fn missing(&self, error: Error) -> Error {
        match self.is_partial {
            true => {
                error.hinted("--missing=fetch fetches what a partial clone lacks of an archive")
            }
            false => error,
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
    /// Whether a missing object may be in a file that the system refused to map.
    missed: bool,
    /// An existing pack directory or loose object to which the system denied access, and the error.
    denied: Option<Arc<(PathBuf, io::Error)>>,
}

/// An index that locates objects in one or several packs.
struct PackSource {
    path: PathBuf,
    kind: SourceKind,
}

enum SourceKind {
    /// The index of one pack, opened on first use.
    Single(OnceLock<Opened<Index>>, PackId),
    /// A multi-pack index with its packs, in the order of its own numbering.
    Multi(Box<multi_index::File>, Vec<PackId>),
}

struct PackFile {
    path: PathBuf,
    pack: OnceLock<Opened<Arc<Pack>>>,
}

/// The content of a file, if the file could be opened.
type Opened<T> = Result<T, Unusable>;

/// Why a file could not be opened.
enum Unusable {
    /// The file is missing, as after a repack, or damaged.
    Absent,
    /// The file exists, but the system refused to map it.
    Refused(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, NotFound, StaleNetworkFileHandle};
        match error.kind() {
            NotFound | StaleNetworkFileHandle | InvalidData => Self::Absent,
            _ => Self::Refused(error),
        }
    }
}

impl PackFile {
    fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            path,
            pack: OnceLock::new(),
        })
    }

    /// The pack, mapped on first use. A pack that does not match its `index` is damaged.
    fn open(&self, hash: Kind, index: Option<&Index>) -> Option<&Arc<Pack>> {
        let open = || Ok(Arc::new(Pack::open(&self.path, hash, index)?));
        self.pack.get_or_init(open).as_ref().ok()
    }
}

impl Odb {
    /// List the packs of all object directories, without opening any.
    pub fn open(config: Config) -> Self {
        let stamps = stamps(&config.dirs);
        let mut odb = Self {
            config: Arc::new(config),
            sources: Vec::new(),
            covered: Vec::new(),
            packs: Vec::new(),
            recent: 0,
            stamps,
            missed: false,
            denied: None,
        };
        odb.list();
        odb
    }

    /// The settings of this database.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Find `id` itself, ignoring replacements.
    pub fn find(&mut self, id: &oid) -> Option<Place> {
        if let Some(place) = self.find_once(id) {
            return Some(place);
        }
        let is_new = self.refresh();
        self.find_again(id, is_new)
    }

    /// Find `id`, which was not found, among packs that are new (if `is_new`) or covered.
    fn find_again(&mut self, id: &oid, is_new: bool) -> Option<Place> {
        let place = is_new.then(|| self.find_once(id)).flatten();
        let place = place.or_else(|| self.covered.iter().find_map(|it| self.find_in(it, id)));
        self.missed |= place.is_none() && self.refused().is_some();
        place
    }

    /// Find each of `ids` itself, in their order. Faster than single lookups where the objects lie in one
    /// pack. The headers of the entries are then in the processor's cache.
    pub fn find_all(&mut self, ids: &[ObjectId], places: &mut Vec<Option<Place>>) {
        places.clear();
        if let Some((id, pack, offsets)) = self.lookup_recent(ids) {
            pack.touch(offsets.iter().flatten());
            let place = |offset| Place::Packed(id, offset);
            places.extend(offsets.into_iter().map(|found| found.map(place)));
        }
        places.resize(ids.len(), None);
        // In a partial clone many are missing. One list of directories is then cheaper than a look for each object.
        let unknown = places.iter().filter(|place| place.is_none()).count();
        let fan_out = (unknown > FEW).then(|| FanOut::of(&self.config.dirs));
        for (id, place) in ids.iter().zip(&mut *places) {
            if place.is_none() {
                let may_be_loose = fan_out.as_ref().is_none_or(|it| it.may_hold(id));
                *place = match may_be_loose {
                    true => self.find_once(id),
                    false => self.find_in_packs(id),
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

    /// The error of a refused access, if an object that was not found may exist all the same.
    pub fn refusal(&self) -> Option<Error> {
        let (path, error) = self.refused().filter(|_| self.missed)?;
        let what = match path.extension() {
            Some(extension) if extension == "idx" => "index file",
            Some(extension) if extension == "pack" => "packfile",
            _ if path.ends_with("pack") => "pack directory",
            _ => "loose object",
        };
        let failed = match error.kind() {
            io::ErrorKind::OutOfMemory => "mapped",
            _ => "accessed",
        };
        let (path, why) = (path.as_os_str().as_bytes(), strerror(error));
        let values = [what.as_bytes(), path, failed.as_bytes(), why.as_bytes()];
        Some(Error::fatal(filled("{} {} cannot be {}: {}", &values)))
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
    pub fn copies(&mut self, id: &oid) -> Vec<Place> {
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
                let number = packs.iter().position(|id| *id == pack)? as u32;
                let mut entries = index.iter().filter_map(Result::ok);
                let here =
                    entries.find(|entry| entry.pack_index == number && entry.pack_offset == offset);
                here.map(|entry| entry.oid)
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

    fn find_once(&mut self, id: &oid) -> Option<Place> {
        self.find_in_packs(id).or_else(|| self.find_loose(id))
    }

    fn find_in_packs(&mut self, id: &oid) -> Option<Place> {
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

    fn find_packed(&self, at: usize, id: &oid) -> Option<Place> {
        self.find_in(self.sources.get(at)?, id)
    }

    fn find_in(&self, source: &PackSource, id: &oid) -> Option<Place> {
        match &source.kind {
            SourceKind::Single(index, pack) => {
                let index = self.index(&source.path, index)?;
                let offset = index.lookup(id)?;
                self.pack_of(index, *pack)?;
                Some(Place::Packed(*pack, offset))
            }
            SourceKind::Multi(index, packs) => {
                let entry = index.lookup(id)?;
                let (pack, offset) = index.pack_id_and_pack_offset_at_index(entry).ok()?;
                let pack = *packs.get(pack as usize)?;
                self.pack(pack)?;
                Some(Place::Packed(pack, offset))
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

    fn find_loose(&mut self, id: &oid) -> Option<Place> {
        let config = Arc::clone(&self.config);
        let position = config.dirs.iter().position(|dir| {
            let path = loose::path(dir, id);
            match std::fs::metadata(&path) {
                Ok(_) => true,
                Err(error) => {
                    self.note_denied(path, error);
                    false
                }
            }
        });
        position.map(|dir| Place::Loose(dir as u32))
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

    /// The number of the pack at `path`, which may be known.
    fn known_pack(&mut self, path: PathBuf) -> PackId {
        match self.packs.iter().position(|file| file.path == path) {
            Some(at) => PackId(at as u32),
            None => self.new_pack(path),
        }
    }

    fn new_pack(&mut self, path: PathBuf) -> PackId {
        self.packs.push(PackFile::new(path));
        PackId((self.packs.len() - 1) as u32)
    }

    /// List the packs again if a pack directory has changed.
    fn refresh(&mut self) -> bool {
        let stamps = stamps(&self.config.dirs);
        if stamps == self.stamps {
            return false;
        }
        self.stamps = stamps;
        self.list();
        true
    }

    /// Add the new files of the pack directories: multi-pack indices first, then the indices of packs that
    /// they do not cover, the largest first.
    fn list(&mut self) {
        let config = Arc::clone(&self.config);
        for dir in &config.dirs {
            let dir = dir.join("pack");
            let covered = self.list_multi_index(&dir);
            let mut found: Vec<(u64, PathBuf)> = Vec::new();
            let entries = std::fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let entries = entries.unwrap_or_else(|error| {
                self.note_denied(dir.clone(), error);
                Vec::new()
            });
            for entry in entries {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "idx")
                    && !covered.contains(&path)
                    && !self.sources.iter().any(|known| known.path == path)
                {
                    let len = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
                    found.push((len, path));
                }
            }
            found.sort_by(|a, b| b.cmp(a));
            for (_, path) in found {
                let pack = self.new_pack(path.with_extension("pack"));
                let kind = SourceKind::Single(OnceLock::new(), pack);
                self.sources.push(Arc::new(PackSource { path, kind }));
            }
        }
    }

    /// Open the multi-pack index of `dir` and return the plain indices that it covers.
    fn list_multi_index(&mut self, dir: &Path) -> Vec<PathBuf> {
        let path = dir.join("multi-pack-index");
        let known = self.sources.iter().any(|source| source.path == path);
        if !self.config.multi_pack_index || known || !path.exists() {
            return Vec::new();
        }
        let index = multi_index::File::at(&path, None).ok();
        let Some(index) = index.filter(|index| index.object_hash() == self.config.hash) else {
            return Vec::new();
        };
        let mut covered = Vec::new();
        let mut packs = Vec::new();
        for name in index.index_names() {
            let name = dir.join(name);
            let pack = name.with_extension("pack");
            let exists = pack.exists();
            let pack = self.known_pack(pack);
            packs.push(pack);
            if exists {
                let (path, kind) = (name.clone(), SourceKind::Single(OnceLock::new(), pack));
                self.covered.push(Arc::new(PackSource { path, kind }));
                covered.push(name);
            }
        }
        let kind = SourceKind::Multi(Box::new(index), packs);
        self.sources.push(Arc::new(PackSource { path, kind }));
        covered
    }
}

/// The error with which the system refused the file at `path`.
fn refusal<'a, T>(
    path: &'a Path,
    opened: &'a OnceLock<Opened<T>>,
) -> Option<(&'a Path, &'a io::Error)> {
    match opened.get() {
        Some(Err(Unusable::Refused(error))) => Some((path, error)),
        _ => None,
    }
}

fn stamps(dirs: &[PathBuf]) -> Vec<Option<SystemTime>> {
    let modified = |dir: &PathBuf| std::fs::metadata(dir.join("pack")).ok()?.modified().ok();
    dirs.iter().map(modified).collect()
}
