//! A file named with `-o`: replaced when the archive is complete, or written in place.
//!
//! A replacement keeps the owner, the permissions and the other attributes of the old file. Where that is
//! impossible, or where another name would keep the old content, the file is written in place, as git does.
//! The old content is kept until the first byte of the archive exists.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, PermissionsExt, fchown},
    },
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use rustix::fs::{flistxattr_query, listxattr_query};
use tempfile::NamedTempFile;

use sluice_base::threads::Lock;

/// The bytes of the target's name in that of its temporary file, which may have 255 in all.
const MAX_PREFIX: usize = 200;

/// Bytes that get blocks of the disk at once.
const ROOM: u64 = 32 << 20;

/// The temporary file of a run, to be removed if the run is interrupted. Clones share the same file.
#[derive(Clone, Debug, Default)]
pub struct Unfinished(Arc<Lock<Option<PathBuf>>>);

impl Unfinished {
    /// Remove the file. Until the result is dropped, no file is created or renamed.
    pub fn remove(&self) -> impl Drop + use<'_> {
        let mut path = self.0.lock();
        if let Some(path) = path.take() {
            // The process is about to end, so a failure has no remedy.
            let _ = fs::remove_file(path);
        }
        path
    }

    /// Whether a run still holds the file.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// A file that keeps its old content until the first byte of the new content.
pub struct InPlace {
    file: File,
    is_emptied: bool,
}

impl InPlace {
    /// Open `path`, following symbolic links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path);
        file.map(Self::new)
    }

    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            is_emptied: false,
        }
    }

    /// The file, without its old content.
    pub(super) fn emptied(&mut self) -> io::Result<&File> {
        if !self.is_emptied {
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.is_emptied = true;
        }
        Ok(&self.file)
    }
}

/// A temporary file that replaces its target at the end.
pub struct Replacement {
    pub(super) file: NamedTempFile,
    pub(super) target: PathBuf,
    unfinished: Unfinished,
    /// Bytes that are written, and bytes that have blocks of the disk, if those are asked for ahead.
    written: u64,
    allocated: Option<u64>,
}

impl Replacement {
    /// Create the file next to `target`, with the attributes of `old` if the target exists.
    pub(super) fn new(
        target: &Path,
        old: Option<&Metadata>,
        unfinished: Unfinished,
    ) -> io::Result<Self> {
        let directory = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let file = {
            let mut path = unfinished.0.lock();
            let file = tempfile::Builder::new()
                .prefix(&temporary_prefix(target))
                .tempfile_in(directory)?;
            *path = Some(file.path().to_owned());
            file
        };
        match old {
            Some(old) => resemble(file.as_file(), target, old)?,
            None => {
                let permissions = Permissions::from_mode(0o666 & !umask());
                file.as_file().set_permissions(permissions)?;
            }
        }
        Ok(Self {
            file,
            target: target.to_owned(),
            unfinished,
            written: 0,
            allocated: old.map(|_| 0),
        })
    }

    /// Has `write` write to the file.
    pub(super) fn put(
        &mut self,
        write: impl Fn(&mut dyn Write) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.make_room();
        let written = write(&mut self.file)?;
        self.written += written as u64;
        Ok(written)
    }

    /// Makes room for the next bytes. A rename over an old file has to wait until all bytes have blocks of the disk, and ext4
    /// chooses those at the end unless it is asked before.
    fn make_room(&mut self) {
        let is_short = |allocated: &u64| *allocated < self.written + ROOM / 4;
        if let Some(allocated) = self.allocated.filter(is_short) {
            let made = allocate(self.file.as_file(), allocated, ROOM);
            // Not every file system can; a full one fails when it is written to.
            self.allocated = made.ok().map(|()| allocated + ROOM);
        }
    }

    /// Rename the file to its target.
    pub(super) fn complete(self) -> io::Result<()> {
        if self
            .allocated
            .is_some_and(|allocated| allocated > self.written)
        {
            self.file.as_file().set_len(self.written)?;
        }
        let mut path = self.unfinished.0.lock();
        self.file.persist(&self.target)?;
        *path = None;
        Ok(())
    }
}

/// Gives `len` bytes of `file` from byte `start` on blocks of the disk, and leaves its length alone.
#[cfg(target_os = "linux")]
fn allocate(file: &File, start: u64, len: u64) -> rustix::io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    fallocate(file, FallocateFlags::KEEP_SIZE, start, len)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64, _: u64) -> rustix::io::Result<()> {
    Err(rustix::io::Errno::NOTSUP)
}

/// The beginning of the name of a temporary file: a user who finds one that a killed run has left sees its target.
fn temporary_prefix(target: &Path) -> OsString {
    let name = target.file_name().unwrap_or_default().as_bytes();
    let mut prefix = name[..name.len().min(MAX_PREFIX)].to_vec();
    prefix.extend_from_slice(b".tmp");
    OsString::from_vec(prefix)
}

/// Whether the path is the only name of the regular file at `path`. A mount point cannot be replaced by a
/// rename.
pub(super) fn has_one_name(path: &Path, metadata: &Metadata) -> bool {
    metadata.nlink() == 1 && !is_mount_point(path)
}

/// Whether something is mounted on `path`.
#[cfg(target_os = "linux")]
fn is_mount_point(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let seen = statx(CWD, path, flags, StatxFlags::BASIC_STATS);
    seen.is_ok_and(|seen| seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Other systems mount on directories.
#[cfg(not(target_os = "linux"))]
fn is_mount_point(_path: &Path) -> bool {
    false
}

/// Give `new` the owner, the permissions and the attributes of the file at `path`, whose metadata is `old`.
/// An error if that is impossible.
fn resemble(new: &File, path: &Path, old: &Metadata) -> io::Result<()> {
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    new.set_permissions(old.permissions())?;
    // Different lengths of the attribute names reveal an access list or other extended attributes.
    let attributes = listxattr_query(path).unwrap_or(0);
    if flistxattr_query(new).unwrap_or(0) == attributes {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The process's umask, which can only be read by setting it.
#[allow(clippy::useless_conversion, reason = "macOS has 16 bits")]
pub fn umask() -> u32 {
    static MASK: LazyLock<u32> = LazyLock::new(|| {
        let mask = rustix::process::umask(rustix::fs::Mode::empty());
        rustix::process::umask(mask);
        mask.bits().into()
    });
    *MASK
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, sync::mpsc, thread, time::Duration};

    use crate::output::Destination;
    use sluice_base::{temporary, working_directory::WorkingDirectory};

    /// The process is about to end when it removes the file, and the run must not notice first.
    #[test]
    fn a_file_that_is_removed_is_not_renamed() {
        let directory = temporary::directory();
        let path = directory.path().join("file");
        let (sender, receiver) = mpsc::channel();
        let watch = |unfinished| {
            sender.send(unfinished).expect("somebody listens");
            Ok(())
        };
        let mut destination =
            Destination::create(&WorkingDirectory::Current.file(&path), watch).expect("a file");
        destination.write_all(b"content").expect("written");
        let unfinished = receiver.recv().expect("it was sent");
        let removed = unfinished.remove();
        thread::scope(|scope| {
            let completed = scope.spawn(|| destination.complete().is_ok());
            thread::sleep(Duration::from_millis(50));
            assert!(!completed.is_finished());
            drop(removed);
            assert!(!completed.join().expect("no panic"));
        });
        assert_eq!(fs::read_dir(directory.path()).expect("ours").count(), 0);
    }

    #[test]
    fn the_longest_name() {
        let directory = temporary::directory();
        let path = directory.path().join("x".repeat(255));
        let destination = Destination::create(&WorkingDirectory::Current.file(&path), |_| Ok(()));
        destination.expect("a file").complete().expect("renamed");
        assert!(path.exists());
    }

    /// By then the name may belong to another file.
    #[test]
    fn a_file_that_is_complete_is_not_removed() {
        let directory = temporary::directory();
        let path = directory.path().join("file");
        let (sender, receiver) = mpsc::channel();
        let watch = |unfinished| {
            sender.send(unfinished).expect("somebody listens");
            Ok(())
        };
        let destination =
            Destination::create(&WorkingDirectory::Current.file(&path), watch).expect("a file");
        let temporary = fs::read_dir(directory.path()).expect("ours").next();
        let temporary = temporary.expect("made").expect("readable").path();
        let name = temporary.file_name().and_then(|name| name.to_str());
        let letters = name.and_then(|name| name.strip_prefix("file.tmp"));
        assert_eq!(letters.map(str::len), Some(6), "{temporary:?}");
        destination.complete().expect("renamed");
        fs::write(&temporary, "of another").expect("written");
        drop(receiver.recv().expect("it was sent").remove());
        assert!(path.exists() && temporary.exists());
    }
}
