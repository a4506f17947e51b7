//! The objects of the local store. What leaves the store is checked against its name: git-lfs compares sizes only.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use bstr::BStr;
use gix_hash::{Kind, hasher};

use super::{Hash, Pointer};
use sluice_base::{
    buffer::Buffer,
    error::{Error, counted, format_bytes, strerror},
    read_ahead,
};

/// Bytes read at once.
const READ_LEN: usize = 128 << 10;
/// The objects that are looked at to see whether they are in memory.
const SAMPLE: usize = 4;

/// Directories with LFS objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalStore {
    /// In the order in which they are searched.
    directories: Vec<PathBuf>,
    /// The most bytes that are read ahead at once.
    max_ahead: u64,
}

impl LocalStore {
    /// The store whose objects are in `directories`, each at `<first two digits>/<next two>/<hash>`, or with the rest of the hash
    /// as the last part, as code hosts have it. At most `max_ahead` bytes
    /// are read ahead at once.
    pub fn new(directories: Vec<PathBuf>, max_ahead: u64) -> Self {
        Self {
            directories,
            max_ahead,
        }
    }

    /// The real paths of the directories that exist. Stores with the same paths have the same objects.
    pub fn places(&self) -> Vec<OsString> {
        let places = self.directories.iter().map(|path| path.canonicalize());
        places.flatten().map(PathBuf::into_os_string).collect()
    }

    /// The file of the object called `hash`; `None` if there is none.
    fn path(&self, hash: &Hash) -> Option<PathBuf> {
        self.paths(hash).find(|path| path.exists())
    }

    /// The files that may be the object called `hash`: below `aa/bb` as git-lfs and most hosts store it, and below `a/b` as Gogs
    /// does.
    fn paths(&self, hash: &Hash) -> impl Iterator<Item = PathBuf> {
        let hex = hash.to_string();
        let directories = self.directories.iter();
        directories.flat_map(move |directory| {
            let below = directory.join(&hex[..2]).join(&hex[2..4]);
            let in_gogs = directory.join(&hex[..1]).join(&hex[1..2]).join(&hex);
            [below.join(&hex), below.join(&hex[4..]), in_gogs]
        })
    }
}

/// An object that a pointer names.
#[derive(Clone, Debug)]
pub struct LfsObject {
    store: Arc<LocalStore>,
    pointer: Pointer,
}

impl LfsObject {
    /// The object in `store` that `pointer` names, whether it is there or not.
    pub fn new(store: &Arc<LocalStore>, pointer: Pointer) -> Self {
        Self {
            store: Arc::clone(store),
            pointer,
        }
    }

    /// The name.
    pub fn hash(&self) -> Hash {
        self.pointer.hash
    }

    /// The size in bytes, as the pointer says.
    pub fn size(&self) -> u64 {
        self.pointer.size
    }

    /// Whether the object is in the store. Its content is not checked.
    pub fn is_here(&self) -> bool {
        self.pointer.size == 0 || self.store.path(&self.pointer.hash).is_some()
    }

    /// The regular file with the content, if it is there.
    fn file(&self) -> Option<PathBuf> {
        let mut paths = self.store.paths(&self.pointer.hash);
        paths.find(|path| path.is_file())
    }

    /// Append the content of the file at `path` to `out`.
    pub fn append(&self, path: &BStr, out: &mut Buffer) -> Result<(), Error> {
        let asked = Asked { object: self, path };
        let Some(mut file) = asked.open()? else {
            return asked.verify(&[]);
        };
        let len = usize::try_from(self.size()).map_err(|_| asked.error("is too large"))?;
        let mut hasher = hasher(Kind::Sha256);
        // In pieces, so that the processor still has in its cache what is hashed.
        for piece in out.space(len).chunks_mut(READ_LEN) {
            file.read_exact(piece)
                .map_err(|error| asked.unread(&error))?;
            hasher.update(piece);
        }
        asked.compare(hasher)
    }

    /// Pass the content of the file at `path` to `taker`, piece by piece. The last piece waits until the whole object
    /// is verified.
    pub fn stream<E: From<Error>>(
        &self,
        path: &BStr,
        taker: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let asked = Asked { object: self, path };
        let Some(mut file) = asked.open()? else {
            return Ok(asked.verify(&[])?);
        };
        let mut hasher = hasher(Kind::Sha256);
        let (mut waiting, mut piece) = (Vec::new(), Vec::new());
        let mut left = self.size();
        while left > 0 {
            piece.resize(left.min(READ_LEN as u64) as usize, 0);
            file.read_exact(&mut piece)
                .map_err(|error| asked.unread(&error))?;
            hasher.update(&piece);
            left -= piece.len() as u64;
            if !waiting.is_empty() {
                taker(&waiting)?;
            }
            std::mem::swap(&mut waiting, &mut piece);
        }
        asked.compare(hasher)?;
        taker(&waiting)
    }
}

/// Asks the system for the content of `objects`, which are in one store, as far as the store reads ahead. Asks for nothing if a
/// sample of the objects is in memory, as `is_in_memory` reports for a file.
pub fn ask_if_cold(objects: &[LfsObject], is_in_memory: impl Fn(&Path) -> bool) {
    let step = objects.len().div_ceil(SAMPLE).max(1);
    let sample = objects.iter().step_by(step).filter_map(LfsObject::file);
    let Some(first) = objects.first() else { return };
    if sample.into_iter().all(|path| is_in_memory(&path)) {
        return;
    }
    read_ahead::ask_for_files(objects.len(), first.store.max_ahead, |number| {
        let LfsObject { store, pointer } = &objects[number];
        store.paths(&pointer.hash)
    });
}

/// An object and the file that it is wanted for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    object: &'a LfsObject,
    path: &'a BStr,
}

impl Asked<'_> {
    /// Open the file of the object and check its size. `None` for an empty object, which is never stored.
    fn open(self) -> Result<Option<File>, Error> {
        let LfsObject { store, pointer } = self.object;
        if let Some(extension) = &pointer.extension {
            let words = "'{}' needs the LFS extension '{}'";
            return Err(Error::fatal(format_bytes(words, &[self.path, extension])));
        }
        if pointer.size == 0 {
            return Ok(None);
        }
        let absent = || {
            let hint = "'git lfs fetch <remote> <commit>' gets the LFS objects of a commit";
            self.error("is not in the local store").hinted(hint)
        };
        let path = store.path(&pointer.hash).ok_or_else(absent)?;
        let unread = |error: io::Error| self.unread(&error);
        // A pipe would wait for a writer.
        let metadata = fs::metadata(&path).map_err(unread)?;
        if !metadata.is_file() {
            return Err(self.error("is not a regular file"));
        }
        let file = File::open(&path).map_err(unread)?;
        let found = file.metadata().map_err(unread)?.len();
        if found == pointer.size {
            Ok(Some(file))
        } else {
            let found = counted(found, "byte");
            Err(self.error(&format!("has {found} instead of {}", pointer.size)))
        }
    }

    fn verify(self, content: &[u8]) -> Result<(), Error> {
        let mut hasher = hasher(Kind::Sha256);
        hasher.update(content);
        self.compare(hasher)
    }

    fn compare(self, hasher: gix_hash::Hasher) -> Result<(), Error> {
        let is_right = hasher
            .try_finalize()
            .is_ok_and(|found| found.as_slice() == self.object.pointer.hash.0);
        if is_right {
            Ok(())
        } else {
            Err(self.error("does not match its hash"))
        }
    }

    /// The error of an object that `fails`.
    fn error(self, fails: &str) -> Error {
        let hash = self.object.pointer.hash.to_string();
        let values = [hash.as_bytes(), self.path, fails.as_bytes()];
        Error::fatal(format_bytes("LFS object {} for '{}' {}", &values))
    }

    fn unread(self, error: &io::Error) -> Error {
        self.error(&format!("cannot be read: {}", strerror(error)))
    }
}
