//! Orders for a thread that creates files, with the bytes that they need, in one piece. Must not touch the directory.

use std::ops::Range;

use super::{
    hash::ContentHash,
    record::{Record, RecordKind},
};

/// Orders for one lane.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) orders: Vec<Order>,
    /// The paths, targets and contents of the orders.
    pub(super) bytes: Vec<u8>,
}

/// What a thread does next. The file of the order before is then complete.
pub(super) enum Order {
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
pub(super) struct FileOrder {
    pub(super) path: Range<usize>,
    pub(super) mode: u32,
    /// The size of the content to come, in bytes. Zero for a hole.
    pub(super) size: u64,
    /// Whether all of the content comes in the same batch.
    pub(super) is_whole: bool,
}

impl Batch {
    /// The bytes of memory that the batch takes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.orders.len() * size_of::<Order>()
    }

    pub(super) fn add(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Append to the content of the last file.
    pub(super) fn append(&mut self, piece: &[u8]) {
        let added = self.add(piece);
        match self.orders.last_mut() {
            Some(Order::Content(before)) => before.end = added.end,
            _ => self.orders.push(Order::Content(added)),
        }
    }

    /// Append the records of what the orders create to `records`.
    pub(super) fn record(&self, records: &mut Vec<u8>) {
        for (number, order) in self.orders.iter().enumerate() {
            let (path, kind) = match order {
                Order::File(file) => (&file.path, self.kind(file, self.orders.get(number + 1))),
                Order::Symlink(path, target) => {
                    let hash = ContentHash::of(self.bytes(target));
                    (path, RecordKind::Link { hash })
                }
                Order::Content(_) | Order::Hole(_) => continue,
            };
            let path = self.bytes(path);
            Record { path, kind }.push(records);
        }
    }

    /// What is known of a file before it is created. The `next` order is for the same file, or for another.
    fn kind(&self, file: &FileOrder, next: Option<&Order>) -> RecordKind {
        let FileOrder {
            mode,
            size,
            is_whole,
            ..
        } = *file;
        match next {
            Some(&Order::Hole(size)) => RecordKind::Hole { mode, size },
            _ if !is_whole => RecordKind::Begun,
            Some(Order::Content(content)) => {
                let hash = ContentHash::of(self.bytes(content));
                RecordKind::File { mode, size, hash }
            }
            _ => {
                let hash = ContentHash::of(b"");
                RecordKind::File { mode, size, hash }
            }
        }
    }

    pub(super) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.clone()]
    }
}
