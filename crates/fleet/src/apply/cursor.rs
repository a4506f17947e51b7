//! Operations on the directory.
//!
//! Every operation is on one name in an open directory. Each directory on the way is opened name by name
//! from one handle, and no symbolic link is followed, no matter who created it. A file is always created as a new one, so
//! nothing is written through a symbolic or hard link. Permissions are those of the archive, less the
//! user's umask. The module knows nothing of archives.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io::{self, ErrorKind},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{
    Dir, DirBuilder, DirBuilderExt as _, File, Metadata, MetadataExt as _, OpenOptions,
    OpenOptionsExt, Permissions, PermissionsExt as _,
};

use sluice_base::error::{Error, Result, format_bytes, strerror};

use super::path::ArchivePath;

/// The permissions of directories without an entry in the archive, as git creates them.
pub(super) const DIRECTORY_MODE: u32 = 0o775;

/// The most directories that a cursor holds open.
const OPEN_MAX: usize = 16;

/// A place in the directory, where the last operation was.
pub(super) struct Cursor<'r> {
    root: &'r Dir,
    /// The directories on the way to the place, with the lengths of their paths. Only the innermost are kept.
    open: VecDeque<(usize, Dir)>,
    /// The path of the place. Empty for the root, where nothing is open.
    at: Vec<u8>,
}

/// What a look at a path finds.
pub(super) enum Look {
    /// There is nothing.
    Nothing,
    Directory,
    /// A file, a link, or anything else that is no directory, at this path: the one that was looked at, or one above.
    Other(Vec<u8>),
}

/// The outcome of entering a directory.
enum Way {
    There,
    /// A directory on the way does not exist.
    Missing,
    /// The path of a name on the way that is no directory.
    Blocked(Vec<u8>),
}

/// Whether an error of this `kind` says that there is no such file: a system has none under a name that it refuses.
fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::InvalidFilename)
}

/// Whether an error of this `kind` says that a directory is in use: something is in it or mounted on it.
fn stays(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DirectoryNotEmpty | ErrorKind::ResourceBusy)
}

/// Remove a file, a symbolic link or an empty directory that is in the way.
fn clear(here: &Dir, name: &OsStr) -> io::Result<()> {
    match here.remove_file(name) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => here.remove_dir(name),
        removed => removed,
    }
}

impl<'r> Cursor<'r> {
    pub(super) fn new(root: &'r Dir) -> Self {
        Self {
            root,
            open: VecDeque::new(),
            at: Vec::new(),
        }
    }

    /// Delete a file, a symbolic link or an empty directory. A missing path counts as deleted. A directory with something
    /// in it stays, as with git: everything of the archive was deleted before. An obstacle of another type stays, and its
    /// path is returned.
    pub(super) fn delete(
        &mut self,
        path: &ArchivePath<'_>,
        is_directory: bool,
    ) -> Result<Option<Vec<u8>>> {
        let (parent, name) = path.split();
        let name = OsStr::from_bytes(name);
        match self.enter(parent, false)? {
            Way::Missing => return Ok(None),
            Way::Blocked(at) => return Ok(Some(at)),
            Way::There => {}
        }
        let removed = self.change(|here| {
            if is_directory {
                here.remove_dir(name)
            } else {
                here.remove_file(name)
            }
        });
        match removed {
            Err(error) => match error.kind() {
                kind if is_absent(kind) || stays(kind) => Ok(None),
                ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
                    Ok(Some(path.bytes().to_vec()))
                }
                _ => Err(failed("delete", path.bytes(), error)),
            },
            Ok(()) => Ok(None),
        }
    }

    /// Delete a file or a symbolic link. Anything else stays.
    pub(super) fn delete_file(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        self.delete(path, false).map(drop)
    }

    /// Delete a directory if it is empty. Anything else stays.
    pub(super) fn delete_directory(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        self.delete(path, true).map(drop)
    }

    /// Changes what is in the current directory. If the user may not, but owns it, the user gets all permissions first.
    fn change<T>(&self, act: impl Fn(&Dir) -> io::Result<T>) -> io::Result<T> {
        let here = self.here();
        match act(here) {
            // The directory that the user has named is not ours to open.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !self.at.is_empty() => {
                let mode = here.dir_metadata()?.mode() & 0o7777;
                let opened = here.set_permissions(".", Permissions::from_mode(mode | 0o700));
                opened.map_err(|_| error).and_then(|()| act(here))
            }
            done => done,
        }
    }

    /// What is at `path`, if anything is. In a directory that the user may not enter, nothing is found.
    pub(super) fn status(&mut self, path: &ArchivePath<'_>) -> Result<Option<Metadata>> {
        let (parent, name) = path.split();
        match self.enter(parent, false)? {
            Way::There => match self.status_here(name) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
                found => found.map_err(|error| failed("read", path.bytes(), error)),
            },
            Way::Missing | Way::Blocked(_) => Ok(None),
        }
    }

    /// What kind of thing is at `path`, or in the way to it.
    pub(super) fn look(&mut self, path: &ArchivePath<'_>) -> Result<Look> {
        let (parent, name) = path.split();
        match self.enter(parent, false)? {
            Way::There => {}
            Way::Missing => return Ok(Look::Nothing),
            Way::Blocked(at) => return Ok(Look::Other(at)),
        }
        let found = self.status_here(name);
        let found = found.map_err(|error| failed("read", path.bytes(), error))?;
        Ok(match found {
            None => Look::Nothing,
            Some(metadata) if metadata.is_dir() => Look::Directory,
            Some(_) => Look::Other(path.bytes().to_vec()),
        })
    }

    fn status_here(&self, name: &[u8]) -> io::Result<Option<Metadata>> {
        match self.here().symlink_metadata(OsStr::from_bytes(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// Gives the user all permissions of the directory at `path`, if there is one.
    pub(super) fn open_directory(&mut self, path: &ArchivePath<'_>) -> Result<()> {
        match self.status(path)? {
            Some(found) if found.is_dir() && found.mode() & 0o700 != 0o700 => {
                let opened = Permissions::from_mode(found.mode() & 0o7777 | 0o700);
                let name = OsStr::from_bytes(path.split().1);
                let set = self.here().set_permissions(name, opened);
                set.map_err(|error| failed("change", path.bytes(), error))
            }
            _ => Ok(()),
        }
    }

    /// The paths of all that is in `directory`, and whether each is a directory. Nothing if it is no directory.
    pub(super) fn entries(&mut self, directory: &[u8]) -> Result<Vec<(Vec<u8>, bool)>> {
        let Way::There = self.enter(directory, false)? else {
            return Ok(Vec::new());
        };
        let read = || -> io::Result<_> {
            let mut found = Vec::new();
            for entry in self.here().entries()? {
                let entry = entry?;
                let name = entry.file_name();
                let path = match directory {
                    b"" => name.as_bytes().to_vec(),
                    directory => [directory, b"/", name.as_bytes()].concat(),
                };
                found.push((path, entry.file_type()?.is_dir()));
            }
            Ok(found)
        };
        read().map_err(|error| failed("read", directory, error))
    }

    /// Open a file to read it. It must be where the last operation was.
    pub(super) fn open_file(&mut self, path: &ArchivePath<'_>) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let name = OsStr::from_bytes(path.split().1);
        let file = self.here().open_with(name, &options);
        file.map_err(|error| failed("read", path.bytes(), error))
    }

    /// The target of a symbolic link. It must be where the last operation was.
    pub(super) fn link_target(&mut self, path: &ArchivePath<'_>) -> Result<Vec<u8>> {
        let name = OsStr::from_bytes(path.split().1);
        let target = self.here().read_link_contents(name);
        let target = target.map_err(|error| failed("read", path.bytes(), error))?;
        Ok(target.into_os_string().into_vec())
    }

    /// Create a directory, unless it exists. The user can always enter it and write to it, and other users may do no more there
    /// than `mode` says.
    pub(super) fn make_directory(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<()> {
        let name = self.prepare(path)?;
        let made = match create_directory(self.here(), name, mode | 0o700) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && self.is_directory(name) => {
                self.restrict(name, mode)
            }
            made => made,
        };
        made.map_err(|error| failed("create", path.bytes(), error))
    }

    /// Take away the permissions of a directory beyond `mode`, and give the user all.
    fn restrict(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let directory = self.here().open_dir_nofollow(name)?;
        let there = directory.dir_metadata()?.mode() & 0o7777;
        // Set by the directory above, not by an archive.
        let set_id = 0o7000;
        let wanted = there & (mode | set_id) | 0o700;
        if wanted != there {
            directory.set_permissions(".", Permissions::from_mode(wanted))?;
        }
        Ok(())
    }

    /// Create a file in place of an existing one.
    pub(super) fn create_file(&mut self, path: &ArchivePath<'_>, mode: u32) -> Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        self.place(path, |here, name| here.open_with(name, &options))
    }

    /// Create a symbolic link in place of an existing one, unless that is the same.
    pub(super) fn create_symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        let target = OsStr::from_bytes(target);
        self.place(path, |here, name| {
            let is_there = |there: PathBuf| there.as_os_str() == target;
            match here.symlink_contents(target, name) {
                Err(_) if here.read_link_contents(name).is_ok_and(is_there) => Ok(()),
                made => made,
            }
        })
    }

    fn place<T>(
        &mut self,
        path: &ArchivePath<'_>,
        make: impl Fn(&Dir, &OsStr) -> io::Result<T>,
    ) -> Result<T> {
        let name = self.prepare(path)?;
        let made = self.change(|here| match make(here, name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                clear(here, name).and_then(|()| make(here, name))
            }
            made => made,
        });
        made.map_err(|error| {
            let is_occupied = error.kind() == ErrorKind::DirectoryNotEmpty;
            let error = failed("create", path.bytes(), error);
            let hint = || format_bytes("move what is in '{}' elsewhere", &[path.bytes()]);
            if is_occupied {
                error.hinted(hint())
            } else {
                error
            }
        })
    }

    /// Enter the parent of `path`, creating missing directories. Returns the name in the parent.
    fn prepare<'p>(&mut self, path: &ArchivePath<'p>) -> Result<&'p OsStr> {
        let (parent, name) = path.split();
        let name = OsStr::from_bytes(name);
        match self.enter(parent, true)? {
            Way::There => Ok(name),
            Way::Missing => Err(failed("create", path.bytes(), ErrorKind::NotFound.into())),
            Way::Blocked(at) => Err(failed("enter", &at, ErrorKind::NotADirectory.into())),
        }
    }

    /// Enter the directory `parent`, name by name.
    fn enter(&mut self, parent: &[u8], make: bool) -> Result<Way> {
        while !is_below(parent, &self.at) {
            self.open.pop_back();
            self.at
                .truncate(self.open.back().map_or(0, |(len, _)| *len));
        }
        while self.at.len() < parent.len() {
            let start = self.at.len() + usize::from(!self.at.is_empty());
            let len = parent[start..].iter().position(|&byte| byte == b'/');
            let end = len.map_or(parent.len(), |len| start + len);
            let name = OsStr::from_bytes(&parent[start..end]);
            let path = &parent[..end];
            let next = match self.here().open_dir_nofollow(name) {
                Err(error) if error.kind() == ErrorKind::NotFound && make => {
                    match create_directory(self.here(), name, DIRECTORY_MODE) {
                        // Another thread may have been faster.
                        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                            return Err(failed("create", path, error));
                        }
                        _ => self.here().open_dir_nofollow(name),
                    }
                }
                opened => opened,
            };
            match next {
                Ok(next) => self.go_down(next, path),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Way::Missing),
                Err(error) if self.is_directory(name) => return Err(failed("enter", path, error)),
                Err(_) => return Ok(Way::Blocked(path.to_vec())),
            }
        }
        Ok(Way::There)
    }

    fn go_down(&mut self, next: Dir, path: &[u8]) {
        if self.open.len() == OPEN_MAX {
            self.open.pop_front();
        }
        self.open.push_back((path.len(), next));
        self.at = path.to_vec();
    }

    fn here(&self) -> &Dir {
        self.open.back().map_or(self.root, |(_, open)| open)
    }

    /// Whether `name` is a directory, and no link to one.
    fn is_directory(&self, name: &OsStr) -> bool {
        let metadata = self.here().symlink_metadata(name);
        metadata.is_ok_and(|metadata| metadata.is_dir())
    }
}

fn create_directory(parent: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    parent.create_dir_with(name, DirBuilder::new().mode(mode))
}

/// Whether `path` is `directory` or below it.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || matches!(rest, [] | [b'/', ..]))
}

/// The error of a failed operation on `path`.
pub(super) fn failed(verb: &str, path: &[u8], error: io::Error) -> Error {
    let why = strerror(&error);
    let values = [verb.as_bytes(), path, why.as_bytes()];
    Error::fatal(format_bytes("cannot {} '{}': {}", &values))
}
