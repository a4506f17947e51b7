//! Places where archives are published: files with names, in a directory or in an object store.
//!
//! A bucket knows names and bytes, and neither git nor archives. A file appears whole or not at all. Messages must not
//! contain credentials, which a URL may have.

mod digest;
mod directory;
mod files;
#[cfg(feature = "store")]
mod lengths;
#[cfg(feature = "store")]
mod remote;
mod url;

use std::{path::PathBuf, time::Duration};

pub use digest::{Digest, Hashing};
use directory::DirectoryBucket;
pub use files::{
    Bucket, Listed, Sent, Take, UNFINISHED, Version, Versioned, absent_bucket, no_bucket,
};
use sluice_base::{error::Result, working_directory::WorkingDirectory};
pub use url::{BucketUrl, shown};

/// Opens the bucket at `url`, which may be a path in `directory`. Each request to an object store may take as long as
/// `deadline`.
pub fn open(
    url: &BucketUrl,
    directory: &WorkingDirectory,
    deadline: Duration,
) -> Result<Box<dyn Bucket>> {
    match url.path() {
        Some(path) => Ok(Box::new(DirectoryBucket::new(
            directory.file(PathBuf::from(path)),
        ))),
        None => remote(url, deadline),
    }
}

#[cfg(feature = "store")]
fn remote(url: &BucketUrl, deadline: Duration) -> Result<Box<dyn Bucket>> {
    match remote::RemoteBucket::open(url, deadline)? {
        Some(bucket) => Ok(Box::new(bucket)),
        None => Err(url.refused(
            "unknown scheme",
            "the schemes are file, s3, gs, az, http and https",
        )),
    }
}

#[cfg(not(feature = "store"))]
fn remote(url: &BucketUrl, _deadline: Duration) -> Result<Box<dyn Bucket>> {
    Err(url.refused(
        "this program was built without object stores",
        "use a path or file://<path>, or build it with them: \
         cargo install --locked --features store --git https://github.com/git-sluice/git-sluice git-sluice",
    ))
}
