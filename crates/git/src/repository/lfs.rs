//! Where a repository has the objects of Git LFS (git-lfs-config(5), "lfs.storage"; git-lfs fs/fs.go).

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use super::Repository;
use crate::lfs::LocalStore;

/// The local store of `repository`, with those of the repositories that it borrows objects from, and the one `of_host`. At most
/// `max_ahead` bytes are read ahead at once.
pub fn local_store(
    repository: &Repository,
    of_host: Option<PathBuf>,
    max_ahead: u64,
) -> LocalStore {
    let common_dir = &repository.common_dir;
    let named = repository.config.string("lfs.storage");
    let named = named.filter(|path| !path.is_empty());
    let own = match named {
        Some(path) => common_dir.join(OsStr::from_bytes(path)),
        None => common_dir.join("lfs"),
    };
    let alternates = repository.objects.dirs.iter().skip(1);
    let borrowed = alternates.filter_map(|objects| Some(objects.parent()?.join("lfs")));
    let stores = std::iter::once(own).chain(borrowed);
    let directories = stores.map(|store| store.join("objects"));
    LocalStore::new(directories.chain(of_host).collect(), max_ahead)
}
