//! Reads the trees of an archive ahead, level by level, and then its files.
//!
//! The walk reads one directory after another, and on storage with latency it waits for each. This thread asks for all
//! directories of a level together. Must not decide what the archive contains: whatever it fails to read, the walk reads.

use std::{
    collections::HashSet,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use gix::{ObjectId, objs::TreeRefIter};

use crate::{
    base::buffer::Buffer,
    git::{objects::reader::Reader, pathspec::Pathspecs},
};

/// Trees that are asked for at once.
const GROUP: usize = 4096;
/// Trees that are read ahead for one request, at most: 20 bytes of memory each.
const MAX_TREES: usize = 1 << 18;
/// Files that are asked for before the walk reaches them, at most. Their order in the pack is known then, so the questions
/// are few and long. The windows of the plan ask for the others.
const MAX_FILES: usize = 1 << 14;
/// The name of the file with the attributes of a directory.
const ATTRIBUTES: &[u8] = b".gitattributes";

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
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// Reads the trees below `root` ahead, as far as `pathspecs` lead to them, and then their files if the archive has them
    /// all (`with_files`). `None` if `reader` does not read ahead, because the repository is in memory.
    pub fn start(
        reader: &Reader,
        root: ObjectId,
        pathspecs: Arc<Pathspecs>,
        with_files: bool,
    ) -> Option<Self> {
        if !reader.odb.reads_ahead() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut walk = LevelWalk {
            // What this thread misses, nobody has to fetch.
            reader: reader.clone().failing_on_missing(),
            pathspecs,
            stop: Arc::clone(&stop),
            seen: HashSet::new(),
            files: Vec::new(),
            max_files: if with_files { MAX_FILES } else { 0 },
        };
        let thread = thread::Builder::new().spawn(move || walk.run(root));
        Some(Self {
            stop,
            // Without the thread, nothing is read ahead.
            thread: thread.ok(),
        })
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
    /// The trees that were read.
    seen: HashSet<ObjectId>,
    /// The files in them.
    files: Vec<ObjectId>,
    max_files: usize,
}

/// A directory of a level: its tree, and its path with a slash at the end.
type Directory = (ObjectId, Vec<u8>);

impl LevelWalk {
    fn run(&mut self, root: ObjectId) {
        let mut level: Vec<Directory> = vec![(root, Vec::new())];
        while !level.is_empty() {
            let mut below = Vec::new();
            for group in mem::take(&mut level).chunks(GROUP) {
                if self.stop.load(Ordering::Relaxed) || self.seen.len() > MAX_TREES {
                    return;
                }
                self.read_group(group, &mut below);
            }
            level = below;
        }
        self.reader.odb.ask_for(&self.files);
    }

    /// Reads the trees in `group`, and appends their directories to `below`.
    fn read_group(&mut self, group: &[Directory], below: &mut Vec<Directory>) {
        let ids: Vec<ObjectId> = group.iter().map(|(id, _)| *id).collect();
        self.reader.odb.ask_for(&ids);
        let mut attributes = Vec::new();
        let mut content = Buffer::default();
        for (id, path) in group {
            // The walk that needs a tree reports that it cannot be read.
            if !matches!(self.reader.read(id, &mut content), Ok(Some(_))) {
                continue;
            }
            for entry in TreeRefIter::from_bytes(&content, id.kind()).map_while(Result::ok) {
                let id = entry.oid.to_owned();
                let path = [&path[..], entry.filename].concat();
                match () {
                    () if entry.mode.is_tree() => {
                        if self.pathspecs.descend(&path) && self.seen.insert(id) {
                            below.push((id, [&path[..], b"/"].concat()));
                        }
                    }
                    () if entry.filename == ATTRIBUTES => attributes.push(id),
                    () if self.files.len() < self.max_files && self.pathspecs.descend(&path) => {
                        self.files.push(id);
                    }
                    () => {}
                }
            }
        }
        self.reader.odb.ask_for(&attributes);
    }
}
