//! Where objects lie: packs, multi-pack indices, loose files, alternates, replacements.
//!
//! An [`Odb`] belongs to one thread, the planner's, and so needs no lock: what it hands out
//! (mapped packs, places) is shared freely. It never reads an object's content, and never talks to
//! a remote. Order as in git: packs, loose objects, then packs once more in case a repack moved
//! everything in between.

mod dirs;
mod index;
pub mod loose;
mod map;
pub mod pack;

use std::{
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use gix::{
    ObjectId,
    hash::{Kind, oid},
    odb::pack::multi_index,
};

use crate::error::{Error, sanitised, strerror};
pub use dirs::object_dirs;
use index::Index;
use pack::Pack;

/// As many replacements in a row as git follows.
const MAX_REPLACEMENTS: usize = 5;

/// The number of a pack within its [`Odb`]; stays valid for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackId(pub u32);

/// Where an object was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a pack, at this offset.
    Packed(PackId, u64),
    /// In the loose file of this object directory.
    Loose(u32),
}

/// What an object database is opened with.
#[derive(Clone)]
pub struct Config {
    /// Every object directory, in lookup order (see [`object_dirs`]).
    pub dirs: Vec<PathBuf>,
    /// The hash that names objects.
    pub hash: Kind,
    /// Whether multi-pack indices may be used (`core.multiPackIndex`).
    pub multi_pack_index: bool,
    /// Pairs of object and replacement, sorted by the first.
    pub replacements: Vec<(ObjectId, ObjectId)>,
}

impl Config {
    /// The file of the loose object `id` in the object directory number `dir`.
    pub fn loose_path(&self, dir: u32, id: &oid) -> PathBuf {
        loose::path(&self.dirs[dir as usize], id)
    }

    /// The object that stands for `id` (`git replace`), or `id` itself.
    pub fn replaced(&self, id: &oid) -> ObjectId {
        let mut id = id.to_owned();
        for _ in 0..MAX_REPLACEMENTS {
            let list = &self.replacements;
            match list.binary_search_by(|(from, _)| from.cmp(&id)) {
                Ok(at) => id = list[at].1,
                Err(_) => break,
            }
        }
        id
    }
}

/// The objects of a repository.
pub struct Odb {
    config: Config,
    indices: Vec<Source>,
    packs: Vec<PackFile>,
    /// The source that had the last object found: the next one is likely there too.
    recent: usize,
    /// When each `pack` directory last changed, to know whether a second look is worth it.
    stamps: Vec<Option<SystemTime>>,
    /// The first file that is there and that the system did not let us map.
    refused: Option<(PathBuf, io::Error)>,
    /// Whether an object was not found since: it may be in there.
    missed: bool,
}

/// What finds objects in one or several packs.
struct Source {
    path: PathBuf,
    state: State,
}

enum State {
    Unopened,
    Single(Index, PackId),
    /// A multi-pack index with the packs it speaks of, by its own numbering.
    Multi(Box<multi_index::File>, Vec<PackId>),
    Unusable,
}

struct PackFile {
    path: PathBuf,
    pack: Option<Arc<Pack>>,
    unusable: bool,
}

impl Odb {
    /// List the packs of all object directories. Opens none of them yet.
    pub fn open(config: Config) -> Self {
        let stamps = stamps(&config.dirs);
        let mut odb = Self {
            config,
            indices: Vec::new(),
            packs: Vec::new(),
            recent: 0,
            stamps,
            refused: None,
            missed: false,
        };
        odb.list();
        odb
    }

    /// What this database was opened with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Find `id` itself, without regard to replacements.
    pub fn find(&mut self, id: &oid) -> Option<Place> {
        if let Some(place) = self.find_once(id) {
            return Some(place);
        }
        let place = self.refresh().then(|| self.find_once(id)).flatten();
        self.missed |= place.is_none() && self.refused.is_some();
        place
    }

    /// What kept us from an object that was not found, if it may be there all the same.
    pub fn refusal(&self) -> Option<Error> {
        let (path, error) = self.refused.as_ref().filter(|_| self.missed)?;
        let what = match path.extension() {
            Some(extension) if extension == "idx" => "index file",
            _ => "packfile",
        };
        let failed = match error.kind() {
            io::ErrorKind::OutOfMemory => "mapped",
            _ => "accessed",
        };
        let (path, why) = (sanitised(path.as_os_str().as_bytes()), strerror(error));
        Some(Error::fatal(format!(
            "{what} {path} cannot be {failed}: {why}"
        )))
    }

    /// Every copy of `id`, in lookup order: what is left to try when one of them is damaged.
    pub fn copies(&mut self, id: &oid) -> Vec<Place> {
        let mut places: Vec<Place> = (0..self.indices.len())
            .filter_map(|at| self.find_packed(at, id))
            .collect();
        places.extend(self.find_loose(id));
        places
    }

    /// The object at `offset` of `pack`, found the slow way: by looking at every one.
    pub fn id_at(&mut self, pack: PackId, offset: u64) -> Option<ObjectId> {
        let at_offset = |source: &Source| match &source.state {
            State::Single(index, id) if *id == pack => index.id_at(offset),
            State::Multi(index, packs) => {
                let number = packs.iter().position(|id| *id == pack)? as u32;
                let mut entries = index.iter().filter_map(Result::ok);
                let here =
                    entries.find(|entry| entry.pack_index == number && entry.pack_offset == offset);
                here.map(|entry| entry.oid)
            }
            _ => None,
        };
        self.indices.iter().find_map(at_offset)
    }

    /// The mapped pack `id`, or nothing if it is gone or damaged.
    pub fn pack(&mut self, id: PackId) -> Option<&Arc<Pack>> {
        let file = &mut self.packs[id.0 as usize];
        if file.pack.is_none() && !file.unusable {
            // Found through a multi-pack index, which holds no checksum of the pack to compare.
            match Pack::open(&file.path, self.config.hash, None) {
                Ok(pack) => file.pack = Some(Arc::new(pack)),
                Err(error) => {
                    file.unusable = true;
                    note(&mut self.refused, &file.path, error);
                }
            }
        }
        file.pack.as_ref()
    }

    /// Let go of the memory that reading packs took so far; they stay mapped.
    pub fn release_packs(&self) {
        self.packs
            .iter()
            .filter_map(|file| file.pack.as_ref())
            .for_each(|pack| pack.release());
    }

    fn find_once(&mut self, id: &oid) -> Option<Place> {
        if let Some(place) = self.find_packed(self.recent, id) {
            return Some(place);
        }
        for at in 0..self.indices.len() {
            if at == self.recent {
                continue;
            }
            if let Some(place) = self.find_packed(at, id) {
                self.recent = at;
                return Some(place);
            }
        }
        self.find_loose(id)
    }

    fn find_packed(&mut self, at: usize, id: &oid) -> Option<Place> {
        if matches!(self.indices.get(at)?.state, State::Unopened) {
            self.open_source(at);
        }
        let (pack, offset) = match &self.indices[at].state {
            State::Single(index, pack) => (*pack, index.lookup(id)?),
            State::Multi(index, packs) => {
                let entry = index.lookup(id)?;
                let (pack, offset) = index.pack_id_and_pack_offset_at_index(entry).ok()?;
                (*packs.get(pack as usize)?, offset)
            }
            State::Unopened | State::Unusable => return None,
        };
        self.pack(pack)
            .is_some()
            .then_some(Place::Packed(pack, offset))
    }

    fn find_loose(&self, id: &oid) -> Option<Place> {
        let exists = |dir: &PathBuf| loose::path(dir, id).exists();
        self.config
            .dirs
            .iter()
            .position(exists)
            .map(|dir| Place::Loose(dir as u32))
    }

    /// Open one source, and for a plain index also its pack: an index alone finds nothing.
    fn open_source(&mut self, at: usize) {
        let path = self.indices[at].path.clone();
        self.indices[at].state = match path.extension() {
            Some(_) => self.open_index(&path),
            None => self.open_multi_index(&path),
        }
        .unwrap_or(State::Unusable);
    }

    fn open_index(&mut self, path: &Path) -> Option<State> {
        let hash = self.config.hash;
        let index = Index::open(path, hash);
        let index = index.map_err(|error| note(&mut self.refused, path, error));
        let index = index.ok()?;
        let pack_path = path.with_extension("pack");
        let pack = Pack::open(&pack_path, hash, Some(&index));
        let pack = pack.map_err(|error| note(&mut self.refused, &pack_path, error));
        let pack = pack.ok()?;
        let id = self.pack_id(pack_path);
        self.packs[id.0 as usize]
            .pack
            .get_or_insert_with(|| Arc::new(pack));
        Some(State::Single(index, id))
    }

    fn open_multi_index(&mut self, path: &Path) -> Option<State> {
        let index = multi_index::File::at(path, None).ok()?;
        if index.object_hash() != self.config.hash {
            return None;
        }
        let dir = path.parent()?;
        let packs = index
            .index_names()
            .iter()
            .map(|name| self.pack_id(dir.join(name).with_extension("pack")))
            .collect();
        Some(State::Multi(Box::new(index), packs))
    }

    fn pack_id(&mut self, path: PathBuf) -> PackId {
        let known = self.packs.iter().position(|file| file.path == path);
        let at = known.unwrap_or_else(|| {
            self.packs.push(PackFile {
                path,
                pack: None,
                unusable: false,
            });
            self.packs.len() - 1
        });
        PackId(at as u32)
    }

    /// Look again, if a pack directory changed since the last look.
    fn refresh(&mut self) -> bool {
        let stamps = stamps(&self.config.dirs);
        if stamps == self.stamps {
            return false;
        }
        self.stamps = stamps;
        self.list();
        true
    }

    /// Add what the pack directories hold and is not known yet. Multi-pack indices come first, then
    /// the indices of packs they do not cover, the largest first.
    fn list(&mut self) {
        for dir in self.config.dirs.clone() {
            let dir = dir.join("pack");
            let covered = self.list_multi_index(&dir);
            let mut found: Vec<(u64, PathBuf)> = Vec::new();
            for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "idx")
                    && !covered.contains(&path)
                    && !self.indices.iter().any(|known| known.path == path)
                {
                    let len = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
                    found.push((len, path));
                }
            }
            found.sort_by(|a, b| b.cmp(a));
            let sources = found.into_iter().map(|(_, path)| Source {
                path,
                state: State::Unopened,
            });
            self.indices.extend(sources);
        }
    }

    /// Open the multi-pack index of `dir` and say which plain indices it makes superfluous.
    fn list_multi_index(&mut self, dir: &Path) -> Vec<PathBuf> {
        let path = dir.join("multi-pack-index");
        let known = self.indices.iter().any(|source| source.path == path);
        if !self.config.multi_pack_index || known || !path.exists() {
            return Vec::new();
        }
        let Some(state) = self.open_multi_index(&path) else {
            return Vec::new();
        };
        let covered = match &state {
            State::Multi(index, packs) => {
                let there = |id: &PackId| self.packs[id.0 as usize].path.exists();
                let names = index.index_names().iter().zip(packs);
                names
                    .filter(|(_, id)| there(id))
                    .map(|(name, _)| dir.join(name))
                    .collect()
            }
            _ => Vec::new(),
        };
        self.indices.push(Source { path, state });
        covered
    }
}

/// Remember in `refused` that `path` was not opened, unless it is gone, as after a repack, or damaged: then
/// there is nothing in it for us.
fn note(refused: &mut Option<(PathBuf, io::Error)>, path: &Path, error: io::Error) {
    use io::ErrorKind::{InvalidData, NotFound, StaleNetworkFileHandle};
    if !matches!(
        error.kind(),
        NotFound | StaleNetworkFileHandle | InvalidData
    ) {
        refused.get_or_insert_with(|| (path.to_owned(), error));
    }
}

fn stamps(dirs: &[PathBuf]) -> Vec<Option<SystemTime>> {
    let modified = |dir: &PathBuf| std::fs::metadata(dir.join("pack")).ok()?.modified().ok();
    dirs.iter().map(modified).collect()
}
