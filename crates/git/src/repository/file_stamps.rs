//! The state of all files that are read to open a repository, to find out whether opening it again would give the same.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Repository, open::sources};
use crate::{environment::Environment, odb::YOUNG};

/// The files of a git directory that decide about the repository (gitrepository-layout(5)).
const FILES: [&str; 7] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "packed-refs",
    "refs/replace",
    "shallow",
];
/// Where refs are in a git directory: two places for files, and the list of the tables.
const REFS: [&str; 3] = ["packed-refs", "refs", "reftable/tables.list"];
/// The most files of refs that are looked at: more would take longer than what is remembered for them saves.
const MAX_REFS: usize = 1 << 10;

/// The state of some paths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileStamps(Vec<(PathBuf, FileStamp)>);

impl FileStamps {
    /// The stamps of `repository`. `None` for one that must be opened again each time.
    pub(super) fn of(repository: &Repository, environment: &Environment) -> Option<Self> {
        if !is_plain(repository, environment) {
            return None;
        }
        let files = files(repository, environment)?.into_iter().map(|path| {
            let stamp = FileStamp::of_file(&path);
            (path, stamp)
        });
        let objects = repository.objects.dirs.iter().map(PathBuf::as_path);
        // A directory `.git` that appears in a bare repository takes its place.
        let inner = environment.cwd.join(".git");
        let directories =
            objects.chain([&repository.git_dir, &environment.cwd, &inner].map(PathBuf::as_path));
        let directories = directories.map(|path| (path.to_owned(), FileStamp::of_directory(path)));
        Self(files.chain(directories).collect()).if_old()
    }

    /// The stamps of all refs in `common_dir`, which are files or in tables. `None` if there are many, or if a change might leave
    /// no trace.
    pub(super) fn of_refs(common_dir: &Path, are_files: bool) -> Option<Self> {
        let places = if are_files { &REFS[..2] } else { &REFS[2..] };
        let mut left: Vec<_> = places.iter().map(|name| common_dir.join(name)).collect();
        let mut stamps = Vec::new();
        while let Some(path) = left.pop() {
            let stamp = FileStamp::of_file(&path);
            if path.is_dir() {
                let entries = fs::read_dir(&path).ok()?;
                let paths = entries.map(|entry| Some(entry.ok()?.path()));
                left.extend(paths.collect::<Option<Vec<_>>>()?);
            }
            stamps.push((path, stamp));
            if stamps.len() + left.len() > MAX_REFS {
                return None;
            }
        }
        stamps.sort_by(|(one, _), (other, _)| one.cmp(other));
        let is_known = are_files || stamps[0].1 != FileStamp::Nothing;
        Self(stamps).if_old().filter(|_| is_known)
    }

    /// These stamps, if they are so old that a change would give others.
    fn if_old(self) -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let young = now.checked_sub(YOUNG)?.as_nanos().cast_signed();
        let is_old = |(_, stamp): &(PathBuf, FileStamp)| stamp.is_older_than(young);
        self.0.iter().all(is_old).then_some(self)
    }

    /// Whether nothing has changed.
    pub(super) fn hold(&self) -> bool {
        self.0.iter().all(|(path, stamp)| match stamp {
            FileStamp::Directory { .. } => *stamp == FileStamp::of_directory(path),
            FileStamp::File { .. } | FileStamp::Nothing => *stamp == FileStamp::of_file(path),
        })
    }
}

/// Whether only the usual files decide about the repository: it lies where it is looked for first, is no linked
/// work tree, has each alternate once, and has no replacements, no extensions and no configuration that is included.
fn is_plain(repository: &Repository, environment: &Environment) -> bool {
    let (git_dir, cwd) = (&repository.git_dir, &environment.cwd);
    let is_found_at_once = match &environment.discovery.git_dir {
        Some(named) => *git_dir == cwd.join(named),
        None => git_dir == cwd || *git_dir == cwd.join(".git"),
    };
    let has = |name: &&str| repository.config.section(name).next().is_some();
    is_found_at_once
        && repository.common_dir == *git_dir
        && !repository.objects.omits_dirs
        && repository.objects.replacements.is_empty()
        && environment.contents.replace_ref_base.is_none()
        && environment.contents.reference_backend.is_none()
        && !has_directory(&git_dir.join("refs/replace"))
        && !["include", "includeif", "extensions"].iter().any(has)
}

/// Whether anything in `directory` may be a directory, in which something may change that its own state does not show.
fn has_directory(directory: &Path) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten();
    entries.any(|entry| {
        let is_file = entry.and_then(|entry| Ok(entry.file_type()?.is_file()));
        !is_file.unwrap_or(false)
    })
}

/// The files that are read to open a plain repository, whether they are there or not. `None` if only git knows them.
fn files(repository: &Repository, environment: &Environment) -> Option<BTreeSet<PathBuf>> {
    let git_dir = &repository.git_dir;
    let shared = sources(&repository.directory, environment).files().ok()?;
    let named = FILES.iter().map(|name| git_dir.join(name));
    let objects = repository.objects.dirs.iter();
    let alternates = objects.map(|objects| objects.join("info/alternates"));
    let shared = shared.into_iter().map(|(file, _)| file);
    Some(shared.chain(named).chain(alternates).collect())
}

/// The state of one path.
#[derive(Debug, PartialEq, Eq)]
enum FileStamp {
    Nothing,
    /// A directory in which anything may change, as long as it is the same one, of the same owner.
    Directory {
        place: (u64, u64),
        owner: (u32, u32),
    },
    /// A file, or a directory whose entries count.
    File {
        place: (u64, u64),
        owner: (u32, u32),
        size: u64,
        /// Of the content and of the rest, in nanoseconds since 1970.
        changed: (i128, i128),
    },
}

impl FileStamp {
    fn of_directory(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(found) => Self::Directory {
                place: (found.dev(), found.ino()),
                owner: (found.uid(), found.mode()),
            },
            Err(_) => Self::Nothing,
        }
    }

    fn of_file(path: &Path) -> Self {
        let time = |seconds: i64, nanoseconds: i64| {
            i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
        };
        match fs::metadata(path) {
            Ok(found) => Self::File {
                place: (found.dev(), found.ino()),
                owner: (found.uid(), found.mode()),
                size: found.size(),
                changed: (
                    time(found.mtime(), found.mtime_nsec()),
                    time(found.ctime(), found.ctime_nsec()),
                ),
            },
            Err(_) => Self::Nothing,
        }
    }

    fn is_older_than(&self, time: i128) -> bool {
        match self {
            Self::File { changed, .. } => changed.0.max(changed.1) < time,
            Self::Nothing | Self::Directory { .. } => true,
        }
    }
}
