//! Places where archives are published: files with names, in a directory or in an object store.
//!
//! A bucket knows names and bytes, and neither git nor archives. A file appears whole or not at all. Messages must not
//! contain credentials, which a URL may have.

mod digest;
mod directory;
mod files;
mod url;

use std::path::PathBuf;

use crate::{error::Result, process::directory::Directory};
pub use digest::{Digest, Hashing};
use directory::DirectoryBucket;
pub use files::{Bucket, Listed, Take, Version, Versioned};
pub use url::{BucketUrl, shown};

/// Opens the bucket at `url`, which may be a path in `directory`.
pub fn open(url: &BucketUrl, directory: &Directory) -> Result<Box<dyn Bucket>> {
    match url.path() {
        Some(path) => Ok(Box::new(DirectoryBucket::new(
            directory.file(PathBuf::from(path)),
        ))),
        None => Err(url.unknown()),
    }
}
