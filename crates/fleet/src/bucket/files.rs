//! What a bucket can do.

use std::time::SystemTime;

use sluice_base::{
    buffer::spool::Spooled,
    error::{Error, Result, format_bytes},
};

/// The beginning of the names of files that are being written. No other file has such a name.
pub const UNFINISHED: &str = ".unfinished-";

/// A place for files. All failures but those of a callback are of the kind
/// [`Unreachable`](sluice_base::error::ExitKind::Unreachable).
pub trait Bucket: Sync {
    /// Reads a small file; `None` if there is none. Reads no more than `max` bytes.
    fn read(&self, name: &str, max: u64) -> Result<Option<Versioned>>;

    /// Puts a small file in place of the version that is `known`, or where there is none. `false` if another version is
    /// there by now.
    fn replace(&self, name: &str, bytes: &[u8], known: Option<&Version>) -> Result<bool>;

    /// Writes a file, in place of one that may be there. Calls `sent` with the bytes that are written so far.
    fn put(&self, name: &str, content: &Spooled, sent: &mut Sent<'_>) -> Result<()>;

    /// Calls `take` for the content of a file, piece by piece. `false` if there is none. `size` is the size that is
    /// expected; the file may have another.
    fn fetch(&self, name: &str, size: u64, take: &mut Take<'_>) -> Result<bool>;

    /// When a file was written; `None` if there is none.
    fn written(&self, name: &str) -> Result<Option<SystemTime>>;

    /// The files of a folder, without those of folders in it.
    fn list(&self, folder: &str) -> Result<Vec<Listed>>;

    /// Whether a folder exists. In an object store, a folder exists as long as it has files.
    fn has_folder(&self, name: &str) -> Result<bool>;

    /// Makes the bucket, with a folder, where nothing is yet: in an empty or new directory, or below a prefix of an object
    /// store that no file has. Succeeds as well if the folder exists. A store on which [`Self::replace`] cannot rely is refused:
    /// it writes and removes a file called `probe`, of the folder, to find out.
    fn create(&self, folder: &str, probe: &str) -> Result<()>;

    /// Whether the place has refused to show a file, as some do where one is missing. Then it counts as missing.
    fn has_refused(&self) -> bool {
        false
    }

    /// Removes a file. A missing one counts as removed.
    fn remove(&self, name: &str) -> Result<()>;
}

/// The error of a bucket called `name` that does not exist.
pub fn no_bucket(name: impl AsRef<[u8]>) -> Error {
    let name = name.as_ref();
    let command = "check the name, or create it: git sluice publish --create {}/<channel> <commit>";
    absent_bucket(name).hinted_command(command, &[name])
}

/// The same error, where no bucket can be created.
pub fn absent_bucket(name: impl AsRef<[u8]>) -> Error {
    Error::unreachable(format_bytes("there is no bucket at '{}'", &[name.as_ref()]))
}

/// The error of a place for a bucket that has other things in it.
pub(super) fn not_empty(name: impl AsRef<[u8]>) -> Error {
    let refused = format_bytes("cannot create a bucket at '{}'", &[name.as_ref()]);
    let cause = "the directory has other files and is not a bucket";
    Error::fatal(refused)
        .caused_by(cause)
        .hinted("name a directory that is new or empty: git sluice publish --create <directory>/<channel> <commit>")
}

/// Takes a piece of a file.
pub type Take<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Takes a number of bytes.
pub type Sent<'a> = dyn FnMut(u64) + 'a;

/// A small file, and its version.
pub struct Versioned {
    /// The content.
    pub bytes: Vec<u8>,
    /// The version, for a later [`Bucket::replace`].
    pub version: Version,
}

/// A version of a file: what the bucket needs to tell it from another one.
pub struct Version {
    /// The entity tag (RFC 9110, section 8.8.3).
    pub(super) tag: Option<String>,
    /// The generation, in stores that count them.
    #[cfg_attr(not(feature = "store"), expect(dead_code))]
    pub(super) generation: Option<String>,
}

/// A file of a folder.
pub struct Listed {
    /// The name in the folder.
    pub name: String,
    /// The size, in bytes.
    pub size: u64,
    /// When the file was written.
    pub written: SystemTime,
}
