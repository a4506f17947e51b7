//! Repositories that stay open between the requests of a batch.
//!
//! A repository is used again only if it was opened twice and everything that was read to open it (`FileStamps`) was the
//! same both times and is the same now. Once is not enough: a change between a read and its stamp would go unnoticed. In
//! doubt it is opened again: a stale answer is never given. Refs, loose objects and attribute files are read by each
//! request in any case; packs stay open as long as no directory of packs has changed.

use std::{path::PathBuf, sync::Arc};

use super::{Repository, file_stamps::FileStamps};
use crate::{environment::Environment, odb::Odb};
use sluice_base::{error::Result, threads::Lock};

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
    stamps: Arc<FileStamps>,
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
            git_dir: environment.discovery.git_dir.clone(),
        };
        let known = self.find(&key).filter(PooledRepository::is_current);
        if let Some(PooledRepository {
            stamps,
            repository: Some(mut repository),
            ..
        }) = known
        {
            if repository.renew_odb() {
                let repository = Some(repository.clone());
                self.put(PooledRepository {
                    key,
                    stamps,
                    repository,
                });
            }
            return Ok(Ok(repository.with_fresh_attributes()));
        }
        let opened = Repository::open(environment)?;
        if let Ok(repository) = &opened
            && let Some(stamps) = FileStamps::of(repository, environment)
        {
            let is_steady = known.is_some_and(|known| *known.stamps == stamps);
            self.put(PooledRepository {
                key,
                stamps: Arc::new(stamps),
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
    /// Whether the repository is as it was.
    fn is_current(&self) -> bool {
        self.stamps.hold()
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
