//! Threads that create files and symbolic links, which is most of the time of an application.
//!
//! Each thread has a lane of its own, in which it writes what it is sent, in order. All names of a directory go into
//! the same lane: an archive that names a path twice leaves the later content, as one thread would. What waits in the
//! lanes is bounded in bytes. Each path stands in the list of the directory before anything is created there. Must not
//! read the archive.

use std::{
    hash::{BuildHasher, BuildHasherDefault},
    io::Write,
    num::NonZeroUsize,
    ops::Range,
    thread::{self, Scope, ScopedJoinHandle},
};

use cap_std::fs::File;
use crossbeam_channel::{Receiver, Sender, bounded};
use rustc_hash::FxHasher;

use crate::error::{Error, Result};

use super::{
    cursor::{Cursor, failed},
    hash::{ContentHash, Hasher},
    list::{NewList, Record, RecordKind},
    path::ArchivePath,
    root::Root,
};

/// The most threads: more wait for each other in the kernel.
const MAX_LANES: usize = 8;
/// A batch is sent when it has this many bytes, of content and of paths.
const BATCH_LEN: usize = 256 << 10;
/// The batches that wait in a lane.
const WAITING: usize = 16;

/// The threads of one application.
pub(super) struct Writers<'scope> {
    lanes: Vec<Lane<'scope>>,
    /// The lane of the file whose content comes next.
    current: usize,
    /// The bytes to come of a file that has no room in one batch.
    left: u64,
}

struct Lane<'scope> {
    batch: Batch,
    batches: Sender<Batch>,
    thread: ScopedJoinHandle<'scope, Result<()>>,
}

/// Orders for one lane.
#[derive(Default)]
struct Batch {
    orders: Vec<Order>,
    /// The paths, targets and contents of the orders.
    bytes: Vec<u8>,
}

/// What a thread does next. The file of the order before is then complete.
enum Order {
    /// Create a file.
    File(FileOrder),
    /// Append to that file.
    Content(Range<usize>),
    /// Give that file a size, with zeros.
    Hole(u64),
    /// Create a symbolic link with a target.
    Symlink(Range<usize>, Range<usize>),
}

/// A file to be created.
struct FileOrder {
    path: Range<usize>,
    mode: u32,
    /// The size of the content to come, in bytes. Zero for a hole.
    size: u64,
    /// Whether all of the content comes in the same batch.
    is_whole: bool,
}

impl<'scope> Writers<'scope> {
    /// Starts the threads.
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        root: &'env Root,
        list: Option<&'env NewList>,
    ) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let lane = |_| {
            let (batches, orders) = bounded(WAITING);
            Lane {
                batch: Batch::default(),
                batches,
                thread: scope.spawn(move || Writer::new(root, list).run(orders)),
            }
        };
        Self {
            lanes: (0..processors.min(MAX_LANES)).map(lane).collect(),
            current: 0,
            left: 0,
        }
    }

    /// Has a file created, whose content of `size` bytes follows.
    pub(super) fn file(&mut self, path: &ArchivePath<'_>, mode: u32, size: u64) -> Result<()> {
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        let is_whole = len <= BATCH_LEN;
        self.left = if is_whole { 0 } else { size };
        let lane = self.lane_of(path, if is_whole { len } else { 0 })?;
        let path = lane.batch.add(path.bytes());
        let order = FileOrder {
            path,
            mode,
            size,
            is_whole,
        };
        lane.batch.orders.push(Order::File(order));
        Ok(())
    }

    /// Has content appended to the last file.
    pub(super) fn content(&mut self, piece: &[u8]) -> Result<()> {
        let lane = &mut self.lanes[self.current];
        if self.left == 0 {
            lane.batch.append(piece);
            return Ok(());
        }
        lane.make_room(piece.len())?;
        lane.batch.append(piece);
        self.left -= piece.len() as u64;
        match self.left {
            // The record of the file comes before those of a later batch.
            0 => lane.send(),
            _ => Ok(()),
        }
    }

    /// Has a file of `size` zeros created.
    pub(super) fn hole(&mut self, path: &ArchivePath<'_>, mode: u32, size: u64) -> Result<()> {
        self.file(path, mode, 0)?;
        let lane = &mut self.lanes[self.current];
        lane.batch.orders.push(Order::Hole(size));
        Ok(())
    }

    /// Has a symbolic link created.
    pub(super) fn symlink(&mut self, path: &ArchivePath<'_>, target: &[u8]) -> Result<()> {
        let lane = self.lane_of(path, target.len())?;
        let (path, target) = (lane.batch.add(path.bytes()), lane.batch.add(target));
        lane.batch.orders.push(Order::Symlink(path, target));
        Ok(())
    }

    /// Waits until everything is written, or for the first failure.
    pub(super) fn finish(self) -> Result<()> {
        let ended = self.lanes.into_iter().map(|lane| {
            // A thread that has failed says why itself.
            let _ = lane.batches.send(lane.batch);
            drop(lane.batches);
            lane.thread
        });
        let ended: Vec<_> = ended.collect();
        let ended = ended.into_iter().map(|thread| {
            let outcome = thread.join();
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.fold(Ok(()), Result::and)
    }

    /// The lane for `path`, with room for so much content.
    fn lane_of(&mut self, path: &ArchivePath<'_>, content: usize) -> Result<&mut Lane<'scope>> {
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let hash = hasher.hash_one(path.split().0);
        self.current = (hash % self.lanes.len() as u64) as usize;
        let lane = &mut self.lanes[self.current];
        lane.make_room(path.bytes().len() + content)?;
        Ok(lane)
    }
}

impl Lane<'_> {
    /// Sends the batch if it has no room for `len` bytes.
    fn make_room(&mut self, len: usize) -> Result<()> {
        let bytes = self.batch.bytes.len();
        match bytes == 0 || bytes + len <= BATCH_LEN {
            true => Ok(()),
            false => self.send(),
        }
    }

    fn send(&mut self) -> Result<()> {
        let next = Batch {
            orders: Vec::with_capacity(self.batch.orders.len()),
            bytes: Vec::with_capacity(BATCH_LEN),
        };
        let sent = self.batches.send(std::mem::replace(&mut self.batch, next));
        sent.map_err(|_| Error::fatal("a thread has ended early"))
    }
}

impl Batch {
    fn add(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Append to the content of the last file.
    fn append(&mut self, piece: &[u8]) {
        let added = self.add(piece);
        match self.orders.last_mut() {
            Some(Order::Content(before)) => before.end = added.end,
            _ => self.orders.push(Order::Content(added)),
        }
    }
}

/// What a thread does.
struct Writer<'r> {
    cursor: Cursor<'r>,
    list: Option<&'r NewList>,
    /// The file of the last order.
    open: Option<OpenFile>,
    /// Records that the list does not have yet.
    records: Vec<u8>,
}

struct OpenFile {
    file: File,
    path: Vec<u8>,
    /// The sum of content that comes in several batches.
    sum: Option<Sum>,
}

/// The sum of the content so far.
struct Sum {
    hasher: Hasher,
    len: u64,
    mode: u32,
    size: u64,
}

impl<'r> Writer<'r> {
    fn new(root: &'r Root, list: Option<&'r NewList>) -> Self {
        Self {
            cursor: root.cursor(),
            list,
            open: None,
            records: Vec::new(),
        }
    }

    fn run(mut self, batches: Receiver<Batch>) -> Result<()> {
        for batch in batches {
            self.record(&batch);
            self.flush()?;
            for order in &batch.orders {
                self.carry_out(order, &batch.bytes)?;
            }
        }
        self.flush()
    }

    /// Records what the orders create.
    fn record(&mut self, batch: &Batch) {
        if self.list.is_none() {
            return;
        }
        let bytes = |range: &Range<usize>| &batch.bytes[range.clone()];
        for (number, order) in batch.orders.iter().enumerate() {
            let record = match order {
                Order::File(FileOrder {
                    path,
                    mode,
                    size,
                    is_whole,
                }) => Record {
                    path: bytes(path),
                    kind: match batch.orders.get(number + 1) {
                        Some(Order::Hole(size)) => RecordKind::Hole {
                            mode: *mode,
                            size: *size,
                        },
                        _ if !is_whole => RecordKind::Begun,
                        content => RecordKind::File {
                            mode: *mode,
                            size: *size,
                            hash: ContentHash::of(match content {
                                Some(Order::Content(content)) => bytes(content),
                                _ => b"",
                            }),
                        },
                    },
                },
                Order::Symlink(path, target) => Record {
                    path: bytes(path),
                    kind: RecordKind::Link {
                        hash: ContentHash::of(bytes(target)),
                    },
                },
                Order::Content(_) | Order::Hole(_) => continue,
            };
            record.push(&mut self.records);
        }
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(list) = self.list {
            list.append(&self.records)?;
        }
        self.records.clear();
        Ok(())
    }

    fn carry_out(&mut self, order: &Order, bytes: &[u8]) -> Result<()> {
        match order {
            Order::File(order) => self.create(order, &bytes[order.path.clone()]),
            Order::Content(content) => self.write(&bytes[content.clone()]),
            Order::Hole(size) => {
                let OpenFile { file, path, .. } = self.open();
                file.set_len(*size)
                    .map_err(|error| failed("write", path, error))
            }
            Order::Symlink(path, target) => {
                self.open = None;
                let path = ArchivePath::of_checked(&bytes[path.clone()]);
                self.cursor.create_symlink(&path, &bytes[target.clone()])
            }
        }
    }

    fn create(&mut self, order: &FileOrder, path: &[u8]) -> Result<()> {
        let FileOrder {
            mode,
            size,
            is_whole,
            ..
        } = *order;
        let file = self
            .cursor
            .create_file(&ArchivePath::of_checked(path), mode)?;
        let sum = || Sum {
            hasher: Hasher::default(),
            len: 0,
            mode,
            size,
        };
        self.open = Some(OpenFile {
            file,
            path: path.to_vec(),
            sum: (!is_whole).then(sum),
        });
        Ok(())
    }

    fn write(&mut self, content: &[u8]) -> Result<()> {
        let OpenFile { file, path, sum } = self.open();
        let written = file.write_all(content);
        written.map_err(|error| failed("write", path, error))?;
        let Some(Sum {
            hasher,
            len,
            mode,
            size,
        }) = sum
        else {
            return Ok(());
        };
        hasher.update(content);
        *len += content.len() as u64;
        if len == size {
            let (mode, size, hash) = (*mode, *size, hasher.finish());
            let kind = RecordKind::File { mode, size, hash };
            let path = std::mem::take(path);
            Record { path: &path, kind }.push(&mut self.records);
        }
        Ok(())
    }

    /// The file of the order before.
    fn open(&mut self) -> &mut OpenFile {
        self.open.as_mut().expect("content follows its file")
    }
}
