//! Packs and their indices, each opened on first use. Must not decide in which order they are searched.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix_hash::Kind;

use super::{index::Index, map::Map, multi_index::MultiIndex, pack::Pack, table::ObjectTable};

/// The number of a pack within its [`Odb`](super::Odb), valid for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackId(pub u32);

/// An index that locates objects in one or several packs.
pub(super) struct PackSource {
    pub(super) path: PathBuf,
    pub(super) kind: SourceKind,
}

pub(super) enum SourceKind {
    /// The index of one pack, opened on first use.
    Single(OnceLock<Opened<Index>>, PackId),
    /// A multi-pack index with its packs, in the order of its own numbering.
    Multi(Box<MultiIndex>, Vec<PackId>),
}

pub(super) struct PackFile {
    pub(super) path: PathBuf,
    pub(super) pack: OnceLock<Opened<Arc<Pack>>>,
}

/// The content of a file, if the file could be opened.
pub(super) type Opened<T> = Result<T, Unusable>;

/// Why a file could not be opened.
pub(super) enum Unusable {
    /// The file is missing, as after a repack, or damaged.
    Absent,
    /// The file exists, but the system refused to map it.
    Refused(io::Error),
}

impl PackSource {
    /// The table of objects of the index, if the index is open.
    pub(super) fn table(&self) -> Option<&ObjectTable> {
        match &self.kind {
            SourceKind::Single(index, _) => Some(index.get()?.as_ref().ok()?.table()),
            SourceKind::Multi(index, _) => Some(index.table()),
        }
    }
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
    pub(super) fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            path,
            pack: OnceLock::new(),
        })
    }

    /// The mapped pack, if it is open.
    pub(super) fn map(&self) -> Option<&Map> {
        Some(self.pack.get()?.as_ref().ok()?.map())
    }

    /// The pack, mapped on first use. A pack that does not match its `index` is damaged.
    pub(super) fn open(&self, hash: Kind, index: Option<&Index>) -> Option<&Arc<Pack>> {
        let open = || Ok(Arc::new(Pack::open(&self.path, hash, index)?));
        self.pack.get_or_init(open).as_ref().ok()
    }
}

/// The error with which the system refused the file at `path`.
pub(super) fn refusal<'a, T>(
    path: &'a Path,
    opened: &'a OnceLock<Opened<T>>,
) -> Option<(&'a Path, &'a io::Error)> {
    match opened.get() {
        Some(Err(Unusable::Refused(error))) => Some((path, error)),
        _ => None,
    }
}
