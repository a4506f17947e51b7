//! The directory of the cache, for a process that may be interrupted, or may die, before and after each use of it.

use std::{fs::File, path::Path, time::Duration};

use super::{error::CacheError, real_directory as real};
use crate::{process::step, sync::thread};

pub(super) use real::{Listed, is_older, largest_file, nap, room, touch};

fn stepwise<T>(operation: impl FnOnce() -> T) -> T {
    step();
    let outcome = operation();
    step();
    outcome
}

pub(super) struct CacheDirectory(real::CacheDirectory);

impl CacheDirectory {
    pub(super) fn open(path: &Path) -> Result<Self, CacheError> {
        stepwise(|| real::CacheDirectory::open(path)).map(Self)
    }

    pub(super) fn open_file(&self, name: &str) -> Result<Option<File>, CacheError> {
        stepwise(|| self.0.open_file(name))
    }

    pub(super) fn create_file(&self, name: &str) -> Result<Option<File>, CacheError> {
        stepwise(|| self.0.create_file(name))
    }

    pub(super) fn open_or_create(&self, name: &str) -> Result<File, CacheError> {
        stepwise(|| self.0.open_or_create(name))
    }

    pub(super) fn exists(&self, name: &str) -> Result<bool, CacheError> {
        stepwise(|| self.0.exists(name))
    }

    pub(super) fn is_at(&self, name: &str, file: &File) -> Result<bool, CacheError> {
        stepwise(|| self.0.is_at(name, file))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), CacheError> {
        stepwise(|| self.0.remove(name))
    }

    pub(super) fn remove_this(&self, name: &str, file: &File) -> Result<(), CacheError> {
        if self.is_at(name, file)? {
            self.remove(name)
        } else {
            Ok(())
        }
    }

    pub(super) fn rename(&self, old: &str, new: &str) -> Result<(), CacheError> {
        stepwise(|| self.0.rename(old, new))
    }

    pub(super) fn list(&self) -> Result<Vec<Listed>, CacheError> {
        stepwise(|| self.0.list())
    }

    pub(super) fn space(&self) -> Result<(u64, u64), CacheError> {
        self.0.space()
    }
}

pub(super) fn try_lock(file: &File) -> Result<bool, CacheError> {
    stepwise(|| real::try_lock(file))
}

pub(super) fn try_lock_shared(file: &File) -> Result<bool, CacheError> {
    stepwise(|| real::try_lock_shared(file))
}

/// Other threads run while this one waits.
pub(super) fn lock(file: &File) -> Result<(), CacheError> {
    while !try_lock(file)? {
        thread::sleep(Duration::ZERO);
    }
    Ok(())
}
