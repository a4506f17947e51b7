//! Shallow clones: the file with the commits whose parents are not here (gitrepository-layout(5), "shallow").

use std::{fs, path::PathBuf};

use bstr::ByteSlice;
use gix_hash::{Kind, ObjectId};

use sluice_base::error::{Error, Result, format_bytes};

/// The commits without parents of a shallow clone.
#[derive(Clone)]
pub(super) struct Shallow(PathBuf);

impl Shallow {
    /// Those in the file at `path`; none if the path is empty.
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Whether the repository is a shallow clone.
    pub(super) fn exists(&self) -> bool {
        self.0.is_file()
    }

    /// Fail if a line holds no id of the kind `hash`, as git does once it reads a commit. git ignores a file that it cannot read.
    pub(super) fn check(&self, hash: Kind) -> Result<()> {
        let Ok(text) = fs::read(&self.0) else {
            return Ok(());
        };
        let is_id = |line: &[u8]| {
            let id = line.get(..hash.len_in_hex()).map(ObjectId::from_hex);
            id.is_some_and(|id| id.is_ok())
        };
        match text.lines().find(|line| !is_id(line)) {
            Some(line) => Err(Error::fatal(format_bytes("bad shallow line: {}", &[line]))),
            None => Ok(()),
        }
    }
}
