//! Reads the trees of an archive ahead, level by level, and then its files.
//!
//! The walk reads one directory after another, and on storage with latency it waits for each. This thread asks for all
//! directories of a level together. Must not decide what the archive contains: whatever it fails to read, the walk reads.

use std::{
    collections::HashSet,
    mem,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use gix_hash::ObjectId;
use gix_object::{TreeRefIter, tree::EntryRef};

use super::locate::KnownBlobs;
use sluice_base::buffer::Buffer;
use sluice_git::{attributes, objects::reader::Reader, pathspec::Pathspecs, tree::Mount};

/// Trees that are asked for at once.
const GROUP: usize = 4096;
/// Files that are asked for before the walk reaches them, at most. All are asked for together, so the questions are few and
/// long. The windows of the plan ask for the others.
const MAX_FILES: usize = 1 << 14;

/// Has `reader` read ahead, at most `max_bytes` for one question, if the files and directories at the top of `tree` are not all
/// in memory. A sample of the packs is looked at first, because it costs least.
pub fn read_ahead_if_cold(reader: &mut Reader, tree: ObjectId, max_bytes: u64) {
    if reader.odb.is_in_memory() {
        return;
    }
    let mut content = Buffer::default();
    let found = reader
        .clone()
        .failing_on_missing()
        .read(&tree, &mut content);
    let entries = TreeRefIter::from_bytes(&content, tree.kind()).map_while(Result::ok);
    let ids: Vec<ObjectId> = entries
        .filter(|entry| !entry.mode.is_commit())
        .map(|entry| entry.oid.to_owned())
        .collect();
    if found.is_ok() && !reader.odb.has_in_memory(&ids) {
        reader.odb.read_ahead(max_bytes);
    }
}

/// A thread that reads ahead. Dropping this value ends it.
pub struct ReadAhead {
    stop: Arc<AtomicBool>,
    known: Arc<OnceLock<Arc<dyn KnownBlobs>>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// Reads the trees below `root`, at `mount`, ahead, as far as `pathspecs` lead to them, and then their files if the archive
    /// has them all (`with_files`). Stops early when the directories that are known take `max_bytes` of memory. `None` if `reader` does
    /// not read ahead, because the repository is in memory.
    pub fn start(
        reader: &Reader,
        (root, mount): (ObjectId, &Mount),
        pathspecs: Arc<Pathspecs>,
        with_files: bool,
        max_bytes: usize,
    ) -> Option<Self> {
        if !reader.odb.reads_ahead() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let known = Arc::default();
        let mut walk = LevelWalk {
            // Nothing that this thread misses has to be fetched.
            reader: reader.clone().failing_on_missing(),
            pathspecs,
            stop: Arc::clone(&stop),
            known: Arc::clone(&known),
            seen: HashSet::new(),
            files: Vec::new(),
            max_files: if with_files { MAX_FILES } else { 0 },
            known_bytes: 0,
            max_bytes,
        };
        let root = (root, mount.prefix().to_vec());
        let thread = thread::Builder::new().spawn(move || walk.run(root));
        Some(Self {
            stop,
            known,
            // Without the thread, nothing is read ahead.
            thread: thread.ok(),
        })
    }

    /// Leaves out the files that are `known`, unless they are being read already.
    pub fn know(&self, known: &Arc<dyn KnownBlobs>) {
        let _ = self.known.set(Arc::clone(known));
    }

    /// Whether the thread still reads.
    pub fn is_running(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A walk over trees, breadth first.
struct LevelWalk {
    reader: Reader,
    pathspecs: Arc<Pathspecs>,
    stop: Arc<AtomicBool>,
    known: Arc<OnceLock<Arc<dyn KnownBlobs>>>,
    /// The trees that were read.
    seen: HashSet<ObjectId>,
    /// The files in them.
    files: Vec<ObjectId>,
    max_files: usize,
    /// The memory of all directories that were found.
    known_bytes: usize,
    max_bytes: usize,
}

/// A directory of a level: its tree, and its path with a slash at the end.
type PendingDirectory = (ObjectId, Vec<u8>);

impl LevelWalk {
    fn run(&mut self, root: PendingDirectory) {
        let mut level = vec![root];
        while !level.is_empty() {
            let mut below = Vec::new();
            for group in mem::take(&mut level).chunks(GROUP) {
                self.read_group(group, &mut below);
            }
            level = below;
        }
        if let Some(known) = self.known.get() {
            self.files.retain(|id| known.find(id).is_none());
        }
        if !self.is_over() {
            self.reader.odb.ask_for(&self.files);
        }
    }

    /// Whether no thread waits for the trees any longer, or too many are known.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.known_bytes > self.max_bytes
    }

    /// Reads the trees in `group`, and appends their directories to `below`.
    fn read_group(&mut self, group: &[PendingDirectory], below: &mut Vec<PendingDirectory>) {
        if self.is_over() {
            return;
        }
        let ids: Vec<ObjectId> = group.iter().map(|(id, _)| *id).collect();
        self.reader.odb.ask_for(&ids);
        let mut attribute_files = Vec::new();
        let mut content = Buffer::default();
        for (id, path) in group {
            if self.is_over() {
                return;
            }
            // The walk that needs a tree reports that it cannot be read.
            if !matches!(self.reader.read(id, &mut content), Ok(Some(_))) {
                continue;
            }
            for entry in TreeRefIter::from_bytes(&content, id.kind()).map_while(Result::ok) {
                if entry.mode.is_commit() {
                } else if entry.mode.is_tree() {
                    self.add_directory(path, &entry, below)
                } else if entry.filename == attributes::NAME {
                    attribute_files.push(entry.oid.to_owned());
                } else {
                    self.add_file(path, &entry)
                }
            }
        }
        self.reader.odb.ask_for(&attribute_files);
    }

    /// Appends the directory `entry` of the directory at `above` to `below`, unless no pathspec leads there or it is known.
    fn add_directory(
        &mut self,
        above: &[u8],
        entry: &EntryRef<'_>,
        below: &mut Vec<PendingDirectory>,
    ) {
        let mut path = [above, entry.filename].concat();
        if !self.pathspecs.descend(&path) || !self.seen.insert(entry.oid.to_owned()) {
            return;
        }
        path.push(b'/');
        self.known_bytes += path.len() + size_of::<PendingDirectory>() + size_of::<ObjectId>();
        below.push((entry.oid.to_owned(), path));
    }

    /// Notes the file `entry` of the directory at `above`, if a pathspec leads there.
    fn add_file(&mut self, above: &[u8], entry: &EntryRef<'_>) {
        if self.files.len() < self.max_files
            && self.pathspecs.descend(&[above, entry.filename].concat())
        {
            self.files.push(entry.oid.to_owned());
        }
    }
}
