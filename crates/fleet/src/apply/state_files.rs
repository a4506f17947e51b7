//! The files that `apply` keeps at the top of the directory. Must not look at their content.
//!
//! They decide what is deleted, so they must come from a trusted user: each must be a regular file, reached through no
//! symbolic link, owned by the applying user and not writable by everybody.

use std::{io, os::unix::ffi::OsStrExt, path::PathBuf};

use bstr::BString;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::process::geteuid;

use sluice_base::error::{Error, Result, format_bytes, strerror};

/// What the directory holds.
pub(super) const STATE: &str = ".git-sluice";
/// The next state, before the rename.
pub(super) const NEW_STATE: &str = ".git-sluice.new";
/// The list of what archives have brought.
pub(super) const LIST: &str = ".git-sluice.files";
/// The list of an application that is not complete.
pub(super) const NEW_LIST: &str = ".git-sluice.files.new";
/// The beginning of that list, before the rename.
pub(super) const NEXT_LIST: &str = ".git-sluice.files.next";

/// The permissions: only the owner may write.
const MODE: u32 = 0o644;

/// Whether a name at the top of the directory is reserved, on file systems with and without case.
pub(super) fn is_reserved(name: &[u8]) -> bool {
    [STATE, NEW_STATE, LIST, NEW_LIST, NEXT_LIST]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

/// The permissions that a new file in `root` has if all are asked for: those that the umask and the file system leave. `None` if
/// it is also found under its name in other case.
pub(super) fn granted(root: &StateDirectory) -> Result<Option<u32>> {
    remove(root, NEXT_LIST)?;
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o777);
    let metadata = open_with(root, NEXT_LIST, options)?.metadata();
    let metadata = metadata.map_err(|error| root.failed(NEXT_LIST, &error))?;
    let in_other_case = root.dir.symlink_metadata(NEXT_LIST.to_uppercase());
    let is_alone = in_other_case.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    Ok(is_alone.then_some(metadata.mode() & 0o777))
}

/// The directory that holds the files.
pub(super) struct StateDirectory {
    pub(super) dir: Dir,
    /// The name as typed, for messages.
    pub(super) name: PathBuf,
}

impl StateDirectory {
    /// The path of the file `name`, for messages.
    pub(super) fn shown(&self, name: &str) -> BString {
        self.name.join(name).as_os_str().as_bytes().into()
    }

    /// The error of a failed operation on the file `name`.
    pub(super) fn failed(&self, name: &str, error: &io::Error) -> Error {
        failed(&self.shown(name), error)
    }
}

/// Open a file to read it, if it exists.
pub(super) fn open(root: &StateDirectory, name: &str) -> Result<Option<File>> {
    match root.dir.symlink_metadata(name) {
        Ok(metadata) => check_origin(&root.shown(name), &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(root.failed(name, &error)),
    }
    open_with(root, name, OpenOptions::new().read(true)).map(Some)
}

/// Open a file that exists, to read and change it.
pub(super) fn open_to_change(root: &StateDirectory, name: &str) -> Result<File> {
    open_with(root, name, OpenOptions::new().read(true).write(true))
}

fn open_with(root: &StateDirectory, name: &str, options: &mut OpenOptions) -> Result<File> {
    let file = root.dir.open_with(name, options.follow(FollowSymlinks::No));
    file.map_err(|error| root.failed(name, &error))
}

/// Refuse a file that another user may have written.
fn check_origin(path: &[u8], metadata: &Metadata) -> Result<()> {
    let kind = metadata.file_type();
    let fault = if kind.is_symlink() {
        "it is a symbolic link"
    } else if !kind.is_file() {
        "it is no regular file"
    } else if metadata.uid() != geteuid().as_raw() {
        "it belongs to another user"
    } else if metadata.mode() & 0o002 != 0 {
        "everybody may write it"
    } else {
        return Ok(());
    };
    let error = Error::fatal(format_bytes(
        "cannot trust '{}': {}",
        &[path, fault.as_bytes()],
    ));
    Err(error.hinted("if you know what the directory holds, remove the file and write it again"))
}

/// Create a file in place of an existing one.
pub(super) fn create(root: &StateDirectory, name: &str) -> Result<File> {
    remove(root, name)?;
    let mut options = OpenOptions::new();
    open_with(root, name, options.write(true).create_new(true).mode(MODE))
}

/// Remove a file, if it exists.
pub(super) fn remove(root: &StateDirectory, name: &str) -> Result<()> {
    match root.dir.remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(root.failed(name, &error)),
        _ => Ok(()),
    }
}

/// Put the file `new`, once it is on the disk, in place of `name`.
pub(super) fn replace(root: &StateDirectory, file: &File, new: &str, name: &str) -> Result<()> {
    file.sync_all().map_err(|error| root.failed(new, &error))?;
    rename(root, new, name)
}

/// Put the file `new` in place of `name`.
pub(super) fn rename(root: &StateDirectory, new: &str, name: &str) -> Result<()> {
    let renamed = root.dir.rename(new, &root.dir, name);
    renamed.map_err(|error| root.failed(name, &error))
}

/// The error of a failed operation on the file at `path`.
pub(super) fn failed(path: &[u8], error: &io::Error) -> Error {
    let why = strerror(error);
    let values = [path, why.as_bytes()];
    Error::fatal(format_bytes("cannot read or write '{}': {}", &values))
}
