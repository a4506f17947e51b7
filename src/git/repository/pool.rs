//! Repositories that stay open between the requests of a batch.
//!
//! A repository is used again only where everything that was read to open it is as it was then. In doubt it is opened
//! again: a stale answer is never given. Refs, loose objects and attribute files are read by each request in any case;
//! packs stay open as long as no directory of packs has changed.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use gix::config::Source;

use super::{Repository, environment::Environment};
use crate::{
    base::{error::Result, threads::Lock},
    git::odb::{Odb, YOUNG},
};

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
/// The sources of configuration in addition to files that others include.
const SOURCES: [Source; 4] = [Source::System, Source::Git, Source::User, Source::Local];

/// The memory of an open repository in bytes, rounded up from what was measured: without packs, and that of each pack.
const REPOSITORY_MEMORY: u64 = 128 << 10;
const PACK_MEMORY: u64 = 1 << 10;
/// The most packs that stay open. Each is two mapped files, and Linux gives a process 65,530 by default.
const MAX_PACKS: usize = 16_384;

/// The repositories, the last one that was used at the end.
pub struct RepositoryPool {
    kept: Lock<Vec<PooledRepository>>,
    max: usize,
    max_memory: u64,
}

/// What decides which repository is meant: the current directory, and a git directory if one is given.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    cwd: PathBuf,
    git_dir: Option<PathBuf>,
}

/// A repository and what was seen of it.
#[derive(Clone)]
struct PooledRepository {
    key: Key,
    traces: Arc<FileStamps>,
    /// `None` until it was opened twice without a change in between: a change while it was opened would go unnoticed.
    repository: Option<Repository>,
}

impl RepositoryPool {
    /// Room for `max` repositories, which take about `max_memory` bytes at most.
    pub fn new(max: usize, max_memory: u64) -> Self {
        Self {
            kept: Lock::default(),
            max,
            max_memory,
        }
    }

    /// [`Repository::open`], or the same repository from an earlier call.
    pub fn open(&self, environment: &Environment) -> Result<Result<Repository>> {
        let key = Key {
            cwd: environment.cwd.clone(),
            git_dir: environment.git_dir.clone(),
        };
        let known = self.find(&key).filter(PooledRepository::is_current);
        if let Some(PooledRepository {
            traces,
            repository: Some(mut repository),
            ..
        }) = known
        {
            if repository.renew_odb() {
                let repository = Some(repository.clone());
                self.put(PooledRepository {
                    key,
                    traces,
                    repository,
                });
            }
            return Ok(Ok(repository.with_fresh_attributes()));
        }
        let opened = Repository::open(environment)?;
        if let Ok(repository) = &opened
            && let Some(traces) = FileStamps::of(repository, environment)
        {
            let is_steady = known.is_some_and(|known| *known.traces == traces);
            self.put(PooledRepository {
                key,
                traces: Arc::new(traces),
                repository: is_steady.then(|| repository.clone()),
            });
        }
        Ok(opened)
    }

    /// The repository of `key`, which becomes the last one that was used.
    fn find(&self, key: &Key) -> Option<PooledRepository> {
        let mut kept = self.kept.lock();
        let at = kept.iter().position(|it| it.key == *key)?;
        // The caller gets the clone: blocks that stay where they are leave no holes between those of requests.
        kept[at..].rotate_left(1);
        kept.last().cloned()
    }

    fn put(&self, repository: PooledRepository) {
        let mut kept = self.kept.lock();
        kept.retain(|it| it.key != repository.key);
        kept.push(repository);
        while !self.have_room(&kept) {
            kept.remove(0);
        }
    }

    fn have_room(&self, kept: &[PooledRepository]) -> bool {
        let packs: usize = kept.iter().map(PooledRepository::packs).sum();
        let memory = kept.len() as u64 * REPOSITORY_MEMORY + packs as u64 * PACK_MEMORY;
        kept.len() <= self.max && packs <= MAX_PACKS && memory <= self.max_memory
    }
}

impl PooledRepository {
    /// Whether the repository is as it was, and all that was read of it is right.
    fn is_current(&self) -> bool {
        let mut repository = self.repository.iter();
        self.traces.hold() && repository.all(|it| it.check_reads().is_ok())
    }

    /// The number of packs that are open.
    fn packs(&self) -> usize {
        let repository = self.repository.as_ref();
        let odb = repository.and_then(|repository| repository.kept_odb.as_ref());
        odb.map_or(0, Odb::pack_count)
    }
}

impl Repository {
    /// Reads attribute files outside of the tree again.
    fn with_fresh_attributes(mut self) -> Self {
        self.settings.attributes.outside = Arc::default();
        self
    }

    /// Lists the packs, unless they are known. Returns whether they were not.
    fn renew_odb(&mut self) -> bool {
        let is_current = self.kept_odb.as_ref().is_some_and(Odb::is_current);
        if !is_current {
            self.kept_odb = Some(self.odb());
        }
        !is_current
    }
}

/// The state of all that is read to open a repository.
#[derive(PartialEq, Eq)]
struct FileStamps(Vec<(PathBuf, Trace)>);

impl FileStamps {
    /// The traces of `repository`. `None` for one that must be opened again each time.
    fn of(repository: &Repository, environment: &Environment) -> Option<Self> {
        if !is_plain(repository, environment) {
            return None;
        }
        let files = files(repository).into_iter().map(|path| {
            let trace = Trace::of_file(&path);
            (path, trace)
        });
        let objects = repository.objects.dirs.iter().map(PathBuf::as_path);
        let directories = objects.chain([repository.gix.git_dir(), &environment.cwd]);
        let directories = directories.map(|path| (path.to_owned(), Trace::of_directory(path)));
        let traces = Self(files.chain(directories).collect());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let young = now.checked_sub(YOUNG)?.as_nanos().cast_signed();
        let is_old = |(_, trace): &(PathBuf, Trace)| trace.is_older_than(young);
        traces.0.iter().all(is_old).then_some(traces)
    }

    /// Whether nothing has changed.
    fn hold(&self) -> bool {
        self.0.iter().all(|(path, trace)| match trace {
            Trace::Directory { .. } => *trace == Trace::of_directory(path),
            Trace::File { .. } | Trace::Nothing => *trace == Trace::of_file(path),
        })
    }
}

/// Whether only the usual files decide about the repository: it lies where it is looked for first, is no linked
/// work tree, and has no replacements, no extensions and no configuration that is included.
fn is_plain(repository: &Repository, environment: &Environment) -> bool {
    let gix = &repository.gix;
    let (git_dir, cwd) = (gix.git_dir(), &environment.cwd);
    let is_found_at_once = match &environment.git_dir {
        Some(named) => git_dir == cwd.join(named),
        None => git_dir == cwd || git_dir == cwd.join(".git"),
    };
    let config = gix.config_snapshot();
    let has = |name: &&str| {
        let mut sections = config
            .plumbing()
            .sections_by_name(name)
            .into_iter()
            .flatten();
        sections.next().is_some()
    };
    is_found_at_once
        && gix.common_dir() == git_dir
        && repository.objects.replacements.is_empty()
        && !["include", "includeIf", "extensions"].iter().any(has)
}

/// The files that are read to open a plain repository, whether they are there or not.
fn files(repository: &Repository) -> BTreeSet<PathBuf> {
    let git_dir = repository.gix.git_dir();
    let config = repository.gix.config_snapshot();
    let sections = config.plumbing().sections();
    let known = sections.filter_map(|section| section.meta().path.clone());
    let sources = SOURCES.iter().filter_map(|source| {
        let path = source.storage_location(&mut |name| std::env::var_os(name));
        Some(git_dir.join(path?))
    });
    let named = FILES.iter().map(|name| git_dir.join(name));
    let objects = repository.objects.dirs.iter();
    let alternates = objects.map(|objects| objects.join("info/alternates"));
    known
        .chain(sources)
        .chain(named)
        .chain(alternates)
        .collect()
}

/// The state of one path.
#[derive(PartialEq, Eq)]
enum Trace {
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

impl Trace {
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
