//! Repositories that stay open between the requests of a batch.
//!
//! A repository is used again only where everything that was read to open it is as it was then. In doubt it is opened
//! anew: a stale answer is never given. Refs, loose objects and attribute files are read by each request in any case;
//! packs stay open as long as no directory of packs has changed.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use gix::config::Source;

use super::{Repository, environment::Environment};
use crate::{
    error::Result,
    odb::{Odb, YOUNG},
};

/// The sources of configuration beside files that others include.
const SOURCES: [Source; 4] = [Source::System, Source::Git, Source::User, Source::Local];

/// The repositories, the last one that was used at the end.
pub struct KeptRepositories {
    kept: Mutex<Vec<Kept>>,
    max: usize,
}

/// What decides which repository is meant: the current directory, and a git directory if one is given.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    cwd: PathBuf,
    git_dir: Option<PathBuf>,
}

/// A repository and what was seen of it.
#[derive(Clone)]
struct Kept {
    key: Key,
    traces: Arc<Traces>,
    /// `None` until it was opened twice without a change in between: a change while it was opened would go unnoticed.
    repository: Option<Repository>,
}

impl KeptRepositories {
    /// Room for `max` repositories.
    pub fn new(max: usize) -> Self {
        Self {
            kept: Mutex::default(),
            max,
        }
    }

    /// [`Repository::open`], or the same repository from an earlier call.
    pub fn open(&self, environment: &Environment) -> Result<Result<Repository>> {
        let key = Key {
            cwd: environment.cwd.clone(),
            git_dir: environment.git_dir.clone(),
        };
        let known = self.find(&key).filter(|known| known.traces.hold());
        if let Some(Kept {
            traces,
            repository: Some(mut repository),
            ..
        }) = known
        {
            if repository.renew_odb() {
                let repository = Some(repository.clone());
                self.put(Kept {
                    key,
                    traces,
                    repository,
                });
            }
            return Ok(Ok(repository.afresh()));
        }
        let opened = Repository::open(environment)?;
        if let Ok(repository) = &opened
            && let Some(traces) = Traces::of(repository, environment)
        {
            let is_steady = known.is_some_and(|known| *known.traces == traces);
            self.put(Kept {
                key,
                traces: Arc::new(traces),
                repository: is_steady.then(|| repository.clone()),
            });
        }
        Ok(opened)
    }

    /// The repository of `key`, which becomes the last one that was used.
    fn find(&self, key: &Key) -> Option<Kept> {
        let mut kept = self.lock();
        let at = kept.iter().position(|it| it.key == *key)?;
        let found = kept.remove(at);
        kept.push(found.clone());
        Some(found)
    }

    fn put(&self, repository: Kept) {
        let mut kept = self.lock();
        kept.retain(|it| it.key != repository.key);
        kept.push(repository);
        if kept.len() > self.max {
            kept.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Repository {
    /// The same repository, whose attribute files outside of the tree are read again.
    fn afresh(mut self) -> Self {
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
struct Traces(Vec<(PathBuf, Trace)>);

impl Traces {
    /// The traces of `repository`. `None` for one that must be opened anew each time.
    fn of(repository: &Repository, environment: &Environment) -> Option<Self> {
        let gix = &repository.gix;
        let git_dir = gix.git_dir();
        let is_found_at_once = match &environment.git_dir {
            Some(named) => git_dir == environment.cwd.join(named),
            None => git_dir == environment.cwd || git_dir == environment.cwd.join(".git"),
        };
        let config = gix.config_snapshot();
        let config = config.plumbing();
        let has = |name: &str| {
            config
                .sections_by_name(name)
                .is_some_and(|mut all| all.next().is_some())
        };
        let is_plain = !has("include") && !has("includeIf") && !has("extensions");
        let is_whole = gix.common_dir() == git_dir && repository.objects.replacements.is_empty();
        if !is_found_at_once || !is_plain || !is_whole {
            return None;
        }
        let mut files: BTreeSet<PathBuf> = config
            .sections()
            .filter_map(|section| section.meta().path.clone())
            .collect();
        let sources = SOURCES
            .iter()
            .filter_map(|source| source.storage_location(&mut |name| std::env::var_os(name)));
        files.extend(sources.map(|path| git_dir.join(path)));
        let names = [
            "HEAD",
            "commondir",
            "config",
            "config.worktree",
            "packed-refs",
            "refs/replace",
            "shallow",
        ];
        files.extend(names.map(|name| git_dir.join(name)));
        let objects = &repository.objects.dirs;
        files.extend(
            objects
                .iter()
                .map(|objects| objects.join("info/alternates")),
        );
        let directories = objects
            .iter()
            .map(PathBuf::as_path)
            .chain([git_dir, &environment.cwd]);
        let directories = directories.map(|path| (path.to_owned(), Trace::of_directory(path)));
        let files = files.into_iter().map(|path| {
            let trace = Trace::of_file(&path);
            (path, trace)
        });
        let traces = Self(files.chain(directories).collect());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()?
            .as_nanos()
            .cast_signed();
        traces
            .0
            .iter()
            .all(|(_, trace)| trace.is_older_than(now - YOUNG.as_nanos().cast_signed()))
            .then_some(traces)
    }

    /// Whether nothing has changed.
    fn hold(&self) -> bool {
        self.0.iter().all(|(path, trace)| match trace {
            Trace::Directory { .. } => *trace == Trace::of_directory(path),
            Trace::File { .. } | Trace::Nothing => *trace == Trace::of_file(path),
        })
    }
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
