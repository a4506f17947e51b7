//! Finds files of the user that an archive would overwrite or delete, and paths that show that the archive was made with
//! other options than the directory. Must not change anything.
//!
//! The list of the directory names all files that archives have brought; all others are the user's. git draws this line
//! between tracked and untracked files, and refuses to lose the latter. A directory without a list holds the files of its
//! commit, as the user has written into the state. There, the files are the user's that a delta adds or does not name.
//!
//! After a power loss, the list may lack the last files of an interrupted archive, because only a flush of the disk before each
//! file could prevent that. An unlisted file loses nothing if the archive has all of its bytes, so that file may be replaced.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufReader, Read},
};

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashSet;

use sluice_base::error::{Error, Result, format_bytes, printable_path};

use super::{
    cursor::{Cursor, Look},
    delta::ArchiveHeader,
    hash::ContentHash,
    list::{List, ListedKind, LiveRecords},
    path::ArchivePath,
    reader::{BoxedReader, ItemKind},
    root::LockedDirectory,
    state::{DirectoryState, other_options},
    state_files::is_reserved,
    steps::ApplyStep,
};

/// Looks at the directory before the first change, step by step.
pub(super) struct Guard<'r> {
    cursor: Cursor<'r>,
    ours: Ours,
    /// Whether files of an interrupted application may be there that no list has.
    is_interrupted: bool,
    /// Whether a delta names the paths that its base lacks.
    names_additions: bool,
    /// Paths that the base of a delta lacks, or may lack.
    added: FxHashSet<ContentHash>,
    /// Whether the files of the base are compared with the list, as far as the delta names them.
    compares: bool,
    found: InTheWay,
    /// Directories in the place of files that are deleted, unless the archive has a directory there, too.
    in_place_of_deleted: BTreeSet<BString>,
    /// Files of the base that the list lacks, unless the base may lack them.
    unlisted: Vec<BString>,
}

/// Which files of a directory may be replaced.
enum Ours {
    /// Those in the lists.
    Listed(LiveRecords),
    /// Those of the base, which no list names. A delta deletes these.
    Base(FxHashSet<ContentHash>),
}

/// Files of the user, and directories of the user in the place of files. `true` stands for a directory.
#[derive(Default)]
pub(super) struct InTheWay(BTreeMap<BString, bool>);

impl<'r> Guard<'r> {
    /// The guard for a full archive; `None` if the directory has no files of the user.
    pub(super) fn of_full(root: &'r LockedDirectory) -> Result<Option<Self>> {
        if root.is_bare()? {
            return Ok(None);
        }
        let listed = LiveRecords::of_both(root.directory())?;
        let state = DirectoryState::read(root.directory())?;
        let mut guard = Self::new(root, Ours::Listed(listed));
        guard.is_interrupted = state.is_some_and(|state| state.is_on_the_way());
        Ok(guard.has_files_of_user(root)?.then_some(guard))
    }

    /// The guard for a delta; `None` if nothing says whose the files are.
    pub(super) fn of_delta(
        root: &'r LockedDirectory,
        claim: &ArchiveHeader,
    ) -> Result<Option<Self>> {
        let state = DirectoryState::read(root.directory())?;
        let is_repeated = state.as_ref().is_some_and(DirectoryState::is_on_the_way);
        let commits: Vec<_> = claim.base.iter().chain([&claim.target]).collect();
        let list = List::of(root.directory(), &commits)?;
        let ours = match list {
            Some(mut list) => Ours::Listed(list.latest()?),
            // The first run has found nothing of the user, and no list says which files are its own.
            None if is_repeated || !claim.names_additions => return Ok(None),
            None => Ours::Base(FxHashSet::default()),
        };
        let is_known = claim.filters.is_some() && state.is_some_and(|it| it.filters.is_some());
        let compares = matches!(ours, Ours::Listed(_)) && !is_known && !is_repeated;
        Ok(Some(Self {
            is_interrupted: is_repeated,
            names_additions: claim.names_additions,
            compares,
            ..Self::new(root, ours)
        }))
    }

    fn new(root: &'r LockedDirectory, ours: Ours) -> Self {
        Self {
            cursor: root.cursor(),
            ours,
            is_interrupted: false,
            names_additions: false,
            added: FxHashSet::default(),
            compares: false,
            found: InTheWay::default(),
            in_place_of_deleted: BTreeSet::new(),
            unlisted: Vec::new(),
        }
    }

    /// Looks at what `step` would change. The `reader` has the content.
    pub(super) fn see(&mut self, step: &ApplyStep<'_>, reader: &mut BoxedReader<'_>) -> Result<()> {
        match step {
            ApplyStep::Add(path) => {
                self.added.insert(ContentHash::of(path.bytes()));
                Ok(())
            }
            ApplyStep::Delete(path) => self.see_deletion(path),
            ApplyStep::Write(path, ItemKind::Directory { .. }) => {
                self.in_place_of_deleted.remove(path.bytes().as_bstr());
                self.see_directory(path)
            }
            ApplyStep::Write(path, entry) => {
                if self.is_interrupted && self.is_part_of(path, entry, reader)? {
                    // A deletion below the path may have met it.
                    self.found.0.remove(path.bytes().as_bstr());
                    return Ok(());
                }
                self.see_file(path)
            }
        }
    }

    /// A directory is deleted only if nothing is in it.
    fn see_deletion(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        if let Ours::Base(deleted) = &mut self.ours {
            deleted.insert(ContentHash::of(path.bytes()));
        }
        if path.is_directory() {
            return self.see_directory(path);
        }
        self.compare(path);
        match self.cursor.look(path)? {
            Look::Directory if self.ours.kind(path.bytes()) != Some(ListedKind::Directory) => {
                self.in_place_of_deleted.insert(path.bytes().into());
            }
            Look::Nothing | Look::Directory => {}
            Look::Other(at) => self.see_other(&at),
        }
        Ok(())
    }

    fn see_directory(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        match self.cursor.look(path)? {
            Look::Nothing | Look::Directory => {}
            Look::Other(at) => self.see_other(&at),
        }
        Ok(())
    }

    fn see_file(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        let is_added = self.added.contains(&ContentHash::of(path.bytes()));
        if self.names_additions && !is_added {
            self.compare(path);
        }
        let is_of_base = matches!(self.ours, Ours::Base(_)) && !is_added;
        match self.cursor.look(path)? {
            Look::Nothing => {}
            Look::Directory => self.see_contents(path.bytes())?,
            Look::Other(at) if is_of_base && at == path.bytes() => {}
            Look::Other(at) => self.see_other(&at),
        }
        Ok(())
    }

    /// Notes the file of the base at `path` if the list lacks it.
    fn compare(&mut self, path: &ArchivePath<'_>) {
        if self.compares && self.ours.kind(path.bytes()).is_none() {
            self.unlisted.push(path.bytes().into());
        }
    }

    /// Something that is no directory is at `path`. It is in the way if it is the user's.
    fn see_other(&mut self, path: &[u8]) {
        if self.is_of_user(path, false) {
            self.found.0.insert(path.into(), false);
        }
    }

    /// Whether an unlisted file or link at `path` has only bytes of `entry`. Zeros are what a crash leaves of bytes that were not
    /// written yet.
    fn is_part_of(
        &mut self,
        path: &ArchivePath<'_>,
        entry: &ItemKind,
        reader: &mut BoxedReader<'_>,
    ) -> Result<bool> {
        let status = self.cursor.status(path)?;
        let Some(found) = status.filter(|_| self.is_of_user(path.bytes(), false)) else {
            return Ok(false);
        };
        if let ItemKind::Symlink { target } = entry {
            return Ok(found.is_symlink() && self.cursor.link_target(path)? == *target);
        }
        let file = found.is_file().then(|| self.cursor.open_file(path));
        let Some(Ok(file)) = file else {
            return Ok(false);
        };
        let mut there = BufReader::new(file).bytes();
        while let Some(piece) = reader.piece()? {
            let mut pairs = piece.iter().zip(there.by_ref());
            if !pairs.all(|(new, there)| there.is_ok_and(|there| there == 0 || there == *new)) {
                return Ok(false);
            }
        }
        Ok(there.all(|byte| byte.is_ok_and(|byte| byte == 0)))
    }

    /// Whether what is at `path` is the user's: no list has it, or a list has something else there.
    fn is_of_user(&self, path: &[u8], is_directory: bool) -> bool {
        let kind = if is_directory {
            ListedKind::Directory
        } else {
            ListedKind::Other
        };
        match (&self.ours, self.ours.kind(path)) {
            // What a delta deletes, of any kind.
            (Ours::Base(_), found) => found.is_none(),
            (Ours::Listed(_), found) => found != Some(kind),
        }
    }

    /// The directory at `path` gives way to a file, with all that is in it.
    fn see_contents(&mut self, path: &[u8]) -> Result<()> {
        let mut pending = vec![path.to_vec()];
        while let Some(directory) = pending.pop() {
            for (path, is_directory) in self.cursor.entries(&directory)? {
                if self.is_of_user(&path, is_directory) {
                    self.found.0.insert(path.clone().into(), is_directory);
                }
                if is_directory {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }

    /// Whether something in the directory is in no list.
    fn has_files_of_user(&self, root: &LockedDirectory) -> Result<bool> {
        let mut cursor = root.cursor();
        let mut pending = vec![Vec::new()];
        while let Some(directory) = pending.pop() {
            for (path, is_directory) in cursor.entries(&directory)? {
                if !is_reserved(&path) && self.is_of_user(&path, is_directory) {
                    return Ok(true);
                }
                if is_directory {
                    pending.push(path);
                }
            }
        }
        Ok(false)
    }

    /// What is in the way, if the user accepts to `overwrite` it. Otherwise, anything in the way is an error.
    pub(super) fn finish(mut self, overwrite: bool) -> Result<InTheWay> {
        for path in std::mem::take(&mut self.in_place_of_deleted) {
            self.see_contents(&path)?;
            self.found.0.insert(path, true);
        }
        let is_of_base = |path: &&BString| !self.added.contains(&ContentHash::of(path));
        if let Some(path) = self.unlisted.iter().find(is_of_base) {
            return Err(without_file_of_base(path));
        }
        if self.found.0.is_empty() || overwrite {
            Ok(self.found)
        } else {
            Err(self.found.refusal())
        }
    }
}

impl Ours {
    /// The kind of our file or directory at `path`; `None` if there is none of ours.
    fn kind(&self, path: &[u8]) -> Option<ListedKind> {
        match self {
            Self::Listed(listed) => listed.kind(path),
            Self::Base(deleted) => {
                let is_deleted = deleted.contains(&ContentHash::of(path));
                is_deleted.then_some(ListedKind::Other)
            }
        }
    }
}

impl InTheWay {
    /// Deletes all of it. Directories that still have something in them stay.
    pub(super) fn remove(&self, root: &LockedDirectory) -> Result<()> {
        let mut cursor = root.cursor();
        for (path, is_directory) in self.0.iter().rev() {
            cursor.delete(&ArchivePath::of_checked(path), *is_directory)?;
        }
        Ok(())
    }

    fn refusal(&self) -> Error {
        let number = self.0.len();
        let refused =
            format!("cannot apply: the archive would overwrite or delete {number} of your files");
        let line = |(path, is_directory): (&BString, &bool)| {
            let slash: &[u8] = if *is_directory { b"/" } else { b"" };
            format_bytes(
                "error: no archive wrote '{}{}', which is in the way",
                &[&printable_path(path), slash],
            )
        };
        let error = self
            .0
            .iter()
            .map(line)
            .fold(Error::fatal(refused), Error::after);
        let them = if self.0.len() == 1 { "it" } else { "them" };
        error.hinted(format!(
            "move {them} elsewhere, or run again with --overwrite to replace {them}"
        ))
    }
}

/// The error of a delta over a base that has the file at `path`, for a directory whose list lacks it.
fn without_file_of_base(path: &[u8]) -> Error {
    let path = printable_path(path);
    other_options(&format_bytes(
        "its base has '{}', which no archive wrote here",
        &[&path],
    ))
}
