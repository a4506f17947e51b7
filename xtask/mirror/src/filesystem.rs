//! A file system that shows a directory read-only and waits before each answer, as a network disk does.
//!
//! The kernel caches attributes, names and pages for as long as the mirror is mounted, so a program that maps a file or
//! asks for pages ahead gets what a disk would give. The mirror must never write to the directory, and its own work
//! must be short next to the wait.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::result;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, Request,
};

use crate::counters::{Counters, Kind};
use crate::delay::Delay;

/// How a mirror differs from the directory that it shows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Behavior {
    /// The wait of a read. Requests for names and attributes wait a quarter of it.
    pub(crate) latency: Duration,
    /// Reads after this number fail with `EIO`.
    pub(crate) fail_after: Option<u64>,
}

/// Threads that do the work of requests. None of them waits.
pub(crate) const THREADS: usize = 4;

/// Reads ahead that the kernel asks for before it lets a program wait, as the queue of a disk has a length.
const MAX_READS_AHEAD: u16 = 256;

/// The largest read, and the read-ahead window: Linux has this default for disks.
const MAX_READ_BYTES: u32 = 128 << 10;

type Result<T> = result::Result<T, Errno>;

/// The kernel asks for attributes and names once: nothing changes while the mirror is mounted.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct Mirror {
    behavior: Behavior,
    counters: Arc<Counters>,
    delay: Delay,
    inodes: Mutex<Inodes>,
    files: Mutex<HashMap<u64, Arc<File>>>,
    next_handle: AtomicU64,
}

impl Mirror {
    pub(crate) fn new(directory: &Path, behavior: Behavior, counters: Arc<Counters>) -> Self {
        Self {
            behavior,
            counters,
            delay: Delay::new(),
            inodes: Mutex::new(Inodes::new(directory)),
            files: Mutex::default(),
            next_handle: AtomicU64::new(1),
        }
    }

    /// Counts a request, does its `work`, and passes the result to `answer` once the request has taken as long as it has
    /// to. `work` gets the number of earlier requests of this kind.
    fn serve<T: Send + 'static>(
        &self,
        kind: Kind,
        work: impl FnOnce(u64) -> Result<T>,
        answer: impl FnOnce(Result<T>) + Send + 'static,
    ) {
        let started = Instant::now();
        let earlier = self.counters.begin(kind);
        let result = work(earlier);
        let wait = match kind {
            Kind::Read => self.behavior.latency,
            _ => self.behavior.latency / 4,
        };
        let counters = Arc::clone(&self.counters);
        self.delay.until(started + wait, move || {
            // First, so that the next request of the same program does not meet this one.
            counters.end();
            answer(result);
        });
    }

    fn path(&self, inode: INodeNo) -> Result<PathBuf> {
        let inodes = lock(&self.inodes);
        let path = inodes.paths.get(inode.0 as usize);
        path.cloned().ok_or(Errno::ENOENT)
    }

    fn attributes(&self, path: PathBuf) -> Result<FileAttr> {
        let metadata = fs::symlink_metadata(&path)?;
        attributes(lock(&self.inodes).number(path), &metadata)
    }

    fn read_directory(&self, directory: &Path) -> Result<Vec<Entry>> {
        let itself = lock(&self.inodes).number(directory.to_owned());
        let dots = [".", ".."].map(|name| (itself, FileType::Directory, name.into()));
        let mut entries = Vec::from(dots);
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if let Some(kind) = FileType::from_std(entry.file_type()?) {
                let inode = lock(&self.inodes).number(entry.path());
                entries.push((inode, kind, entry.file_name()));
            }
        }
        Ok(entries)
    }

    fn read_file(&self, handle: FileHandle, offset: u64, len: u32) -> Result<Vec<u8>> {
        let file = lock(&self.files).get(&handle.0).cloned();
        let file = file.ok_or(Errno::EBADF)?;
        let mut buffer = vec![0; len as usize];
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        buffer.truncate(filled);
        Ok(buffer)
    }
}

impl Filesystem for Mirror {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Each setter returns the nearest value that the kernel accepts.
        if let Err(nearest) = config.set_max_readahead(MAX_READ_BYTES) {
            let _ = config.set_max_readahead(nearest);
        }
        // It also limits the length of a read.
        let _ = config.set_max_write(MAX_READ_BYTES);
        let _ = config.set_max_background(MAX_READS_AHEAD);
        // Below this number of requests, the kernel never drops pages that were asked for ahead.
        let _ = config.set_congestion_threshold(MAX_READS_AHEAD);
        for capability in [
            InitFlags::FUSE_ASYNC_READ,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_NO_OPENDIR_SUPPORT,
        ] {
            // An old kernel has fewer.
            let _ = config.add_capabilities(capability);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let find = |_| self.attributes(self.path(parent)?.join(name));
        self.serve(Kind::Lookup, find, |found| match found {
            Ok(attributes) => reply.entry(&LIFETIME, &attributes, Generation(0)),
            // Inode 0 lets the kernel remember that the name does not exist.
            Err(Errno::ENOENT) => reply.entry(&LIFETIME, &ABSENT, Generation(0)),
            Err(error) => reply.error(error),
        });
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let find = |_| self.attributes(self.path(inode)?);
        self.serve(Kind::Getattr, find, |found| match found {
            Ok(attributes) => reply.attr(&LIFETIME, &attributes),
            Err(error) => reply.error(error),
        });
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        let read = |_| Ok(fs::read_link(self.path(inode)?)?);
        self.serve(Kind::Readlink, read, |target| match target {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(error) => reply.error(error),
        });
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let open = |_| {
            let file = File::open(self.path(inode)?)?;
            let handle = self.next_handle.fetch_add(1, Relaxed);
            lock(&self.files).insert(handle, Arc::new(file));
            Ok(FileHandle(handle))
        };
        self.serve(Kind::Open, open, |handle| match handle {
            Ok(handle) => {
                let flags = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH;
                reply.opened(handle, flags);
            }
            Err(error) => reply.error(error),
        });
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        len: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = |earlier| match self.behavior.fail_after {
            Some(reads) if earlier >= reads => Err(Errno::EIO),
            _ => {
                let data = self.read_file(handle, offset, len)?;
                self.counters.add_read_bytes(data.len() as u64);
                Ok(data)
            }
        };
        self.serve(Kind::Read, read, |data| match data {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(error),
        });
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        lock(&self.files).remove(&handle.0);
        reply.ok();
    }

    /// Tells the kernel that directories need no opening.
    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    /// Serves the entries from number `offset` on. Only the first request for a directory waits: a disk sends the end of a
    /// small directory together with its beginning.
    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let read = |_| self.read_directory(&self.path(inode)?);
        let answer = move |entries: Result<Vec<Entry>>| match entries {
            Ok(entries) => {
                let following = (1..).zip(entries).skip(offset as usize);
                for (next, (inode, kind, name)) in following {
                    if reply.add(inode, next, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        };
        match offset {
            0 => self.serve(Kind::Readdir, read, answer),
            _ => answer(read(0)),
        }
    }
}

/// A name in a directory.
type Entry = (INodeNo, FileType, OsString);

/// The paths of inodes. No inode is forgotten, since a mirror lives for one run.
struct Inodes {
    /// By number; number 0 is no inode, number 1 the mirrored directory.
    paths: Vec<PathBuf>,
    numbers: HashMap<PathBuf, INodeNo>,
}

impl Inodes {
    fn new(directory: &Path) -> Self {
        Self {
            paths: vec![PathBuf::new(), directory.to_owned()],
            numbers: HashMap::from([(directory.to_owned(), INodeNo::ROOT)]),
        }
    }

    fn number(&mut self, path: PathBuf) -> INodeNo {
        if let Some(&number) = self.numbers.get(&path) {
            return number;
        }
        let number = INodeNo(self.paths.len() as u64);
        self.paths.push(path.clone());
        self.numbers.insert(path, number);
        number
    }
}

/// The attributes of a name that does not exist.
const ABSENT: FileAttr = FileAttr {
    ino: INodeNo(0),
    size: 0,
    blocks: 0,
    atime: SystemTime::UNIX_EPOCH,
    mtime: SystemTime::UNIX_EPOCH,
    ctime: SystemTime::UNIX_EPOCH,
    crtime: SystemTime::UNIX_EPOCH,
    kind: FileType::RegularFile,
    perm: 0,
    nlink: 0,
    uid: 0,
    gid: 0,
    rdev: 0,
    blksize: 0,
    flags: 0,
};

fn attributes(inode: INodeNo, metadata: &Metadata) -> Result<FileAttr> {
    let kind = FileType::from_std(metadata.file_type()).ok_or(Errno::EIO)?;
    let changed = Duration::new(
        metadata.ctime().unsigned_abs(),
        metadata.ctime_nsec() as u32,
    );
    Ok(FileAttr {
        ino: inode,
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: metadata.accessed()?,
        mtime: metadata.modified()?,
        ctime: SystemTime::UNIX_EPOCH + changed,
        crtime: SystemTime::UNIX_EPOCH,
        kind,
        perm: (metadata.mode() & 0o7777) as u16,
        nlink: metadata.nlink() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: metadata.rdev() as u32,
        blksize: metadata.blksize() as u32,
        flags: 0,
    })
}

/// A thread that panicked leaves maps that are still consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
