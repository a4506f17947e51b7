//! Refs in files (gitrepository-layout(5); refs.c and refs/files-backend.c of git).
//!
//! Not gix's store: it follows namespaces, which git-archive(1) does not, and passes over damage that git refuses. Must not
//! guess: refs in a reftable, broken ones, links and refs of other work trees are [`AskGit`], and the installed git is asked
//! about them.

mod name;
mod packed;

use std::{
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};

pub use name::{AskGit, is_sound};
use packed::PackedRefs;

/// Where git looks for a short name, in this order: before and after the name (gitrevisions(7)).
const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];
/// The most consecutive refs that git reads. The last of them must hold an id.
const MAX_REFS: usize = 5;
/// What the names of refs begin with that each work tree has for itself (git-worktree(1), "REFS").
const OF_WORK_TREE: [&[u8]; 3] = [b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/"];
/// What the names of refs begin with that belong to another work tree.
const OF_OTHERS: [&[u8]; 2] = [b"main-worktree/", b"worktrees/"];

/// Where refs are.
#[derive(Clone, Debug)]
pub enum RefStorage {
    /// In files: those of the work tree below the first directory, and all others below the second.
    Files(PathBuf, PathBuf),
    /// Where only git can read them.
    Unreadable,
}

/// The refs of a repository. Clones share `packed-refs` as it was when a ref was first looked for.
#[derive(Clone)]
pub struct Refs {
    storage: RefStorage,
    hash: Kind,
    packed: Arc<OnceLock<Result<PackedRefs, AskGit>>>,
}

/// A ref that a short name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRef {
    /// The full name of the ref at the end of the chain.
    pub name: BString,
    /// Its id.
    pub id: ObjectId,
    /// Whether the short name leads to other refs, too, in places where git looks later.
    pub is_ambiguous: bool,
}

/// A ref, and the id at its end. A ref without an id is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefTarget {
    /// The full name.
    pub name: BString,
    /// The id at its end.
    pub id: Option<ObjectId>,
}

/// The content of one ref.
enum RefContent {
    Id(ObjectId),
    Name(BString),
}

impl Refs {
    /// The refs in `storage`, with ids of the kind `hash`.
    pub fn new(storage: RefStorage, hash: Kind) -> Self {
        Self {
            storage,
            hash,
            packed: Arc::default(),
        }
    }

    /// Whether the refs are in files.
    pub fn are_files(&self) -> bool {
        matches!(self.storage, RefStorage::Files(..))
    }

    /// The ref that the short or full `name` means. As git does, this looks in all places, so that damage in one is noticed.
    pub fn find(&self, name: &BStr) -> Result<Option<FoundRef>, AskGit> {
        let mut found: Option<FoundRef> = None;
        for (before, after) in PLACES {
            let full = [before.as_bytes(), name, after.as_bytes()].concat();
            match (self.resolve(full.as_bstr())?, &mut found) {
                (None, _) => {}
                (Some(_), Some(first)) => first.is_ambiguous = true,
                (Some((name, id)), None) => {
                    found = Some(FoundRef {
                        name,
                        id,
                        is_ambiguous: false,
                    });
                }
            }
        }
        Ok(found)
    }

    /// The full name and the id of the ref at the end of the chain from the ref of this full `name`.
    fn resolve(&self, name: &BStr) -> Result<Option<(BString, ObjectId)>, AskGit> {
        let mut name = name.to_owned();
        for number in 0..MAX_REFS {
            match self.read(name.as_bstr())? {
                Some(RefContent::Id(id)) => return Ok(Some((name, id))),
                Some(RefContent::Name(next)) => name = next,
                None if number == 0 => return Ok(None),
                // A chain that leads nowhere is broken.
                None => return Err(AskGit),
            }
        }
        Err(AskGit)
    }

    /// The name of the current branch without `refs/heads/`, if `HEAD` names one.
    pub fn branch(&self) -> Result<Option<BString>, AskGit> {
        let mut name = BString::from("HEAD");
        for _ in 0..MAX_REFS {
            match self.read(name.as_bstr())? {
                Some(RefContent::Name(next)) => name = next,
                Some(RefContent::Id(_)) | None => break,
            }
        }
        Ok(name.strip_prefix(b"refs/heads/").map(Into::into))
    }

    /// The refs whose names begin with `prefix`, a directory with a slash at its end, in the order of their names.
    pub fn below(&self, prefix: &BStr) -> Result<Vec<RefTarget>, AskGit> {
        let mut names = self.packed()?.names_below(prefix)?;
        self.add_loose(prefix, &mut names)?;
        names.sort_unstable();
        names.dedup();
        let target = |name: BString| RefTarget {
            id: self
                .resolve(name.as_bstr())
                .ok()
                .flatten()
                .map(|(_, id)| id),
            name,
        };
        Ok(names.into_iter().map(target).collect())
    }

    /// Adds the names of loose refs in the directory `prefix` and below it.
    fn add_loose(&self, prefix: &BStr, names: &mut Vec<BString>) -> Result<(), AskGit> {
        let path = self.path(prefix)?.ok_or(AskGit)?;
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(_) => return Err(AskGit),
        };
        for entry in entries {
            let entry = entry.map_err(|_| AskGit)?;
            let kind = entry.file_type().map_err(|_| AskGit)?;
            let name = entry.file_name();
            let name = name.as_bytes();
            if name.starts_with(b".") || name.ends_with(b".lock") {
                continue;
            }
            let full = BString::from([prefix, name].concat());
            if kind.is_dir() {
                self.add_loose([&full[..], b"/"].concat().as_bstr(), names)?
            } else if kind.is_file() && is_sound(full.as_bstr()) {
                names.push(full)
            } else {
                return Err(AskGit);
            }
        }
        Ok(())
    }

    /// The content of the ref of this full `name`. `None` if there is no such ref.
    fn read(&self, name: &BStr) -> Result<Option<RefContent>, AskGit> {
        let Some(path) = self.path(name)? else {
            return Ok(None);
        };
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.read_packed(name),
            Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(None),
            Ok(found) if found.is_dir() => self.read_packed(name),
            Ok(found) if found.is_file() => self.read_loose(&path).map(Some),
            Ok(_) | Err(_) => Err(AskGit),
        }
    }

    fn read_packed(&self, name: &BStr) -> Result<Option<RefContent>, AskGit> {
        Ok(self.packed()?.find(name)?.map(RefContent::Id))
    }

    /// Reads the file of a ref: an id, with space and words after it, or the name of another ref.
    fn read_loose(&self, path: &Path) -> Result<RefContent, AskGit> {
        let content = fs::read(path).map_err(|_| AskGit)?;
        if let Some(name) = content.strip_prefix(b"ref:") {
            let name = name.trim_ascii().as_bstr();
            return if is_sound(name) {
                Ok(RefContent::Name(name.to_owned()))
            } else {
                Err(AskGit)
            };
        }
        let (id, rest) = content
            .split_at_checked(self.hash.len_in_hex())
            .ok_or(AskGit)?;
        let ends = rest.first().is_none_or(u8::is_ascii_whitespace);
        let id = ObjectId::from_hex(id).ok().filter(|_| ends);
        id.map(RefContent::Id).ok_or(AskGit)
    }

    /// The path of the file of the ref `name`. `None` if no ref can have this name.
    fn path(&self, name: &BStr) -> Result<Option<PathBuf>, AskGit> {
        let RefStorage::Files(own, common) = &self.storage else {
            return Err(AskGit);
        };
        let starts_with = |starts: &[&[u8]]| starts.iter().any(|start| name.starts_with(start));
        if starts_with(&OF_OTHERS) {
            return Err(AskGit);
        }
        let is_shared = name.starts_with(b"refs/") && !starts_with(&OF_WORK_TREE);
        let directory = if is_shared { common } else { own };
        let is_sound = is_sound(name.strip_suffix(b"/").unwrap_or(name).as_bstr());
        Ok(is_sound.then(|| directory.join(OsStr::from_bytes(name))))
    }

    fn packed(&self) -> Result<&PackedRefs, AskGit> {
        let RefStorage::Files(_, common) = &self.storage else {
            return Err(AskGit);
        };
        let open = || PackedRefs::open(&common.join("packed-refs"), self.hash);
        self.packed
            .get_or_init(open)
            .as_ref()
            .map_err(|unclear| *unclear)
    }
}
