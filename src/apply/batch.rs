//! Orders for a thread that creates files, with the content that they need. Must not touch the directory.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    hash::ContentHash,
    large::Target,
    record::{Record, RecordKind},
};

/// The bytes of an archive around the content of an entry: header and padding, at most.
const AROUND_LEN: usize = 1 << 10;

/// Orders that one thread carries out, one after the other.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) orders: Vec<Order>,
    /// The bytes of memory that the orders hold, with those of the archive around their content.
    pub(super) len: usize,
}

/// What a thread does next.
pub(super) enum Order {
    /// Create a file with this content.
    File {
        path: Vec<u8>,
        mode: u32,
        content: Bytes,
    },
    /// Create a file of this many zeros.
    Hole { path: Vec<u8>, mode: u32, size: u64 },
    /// Create a symbolic link.
    Symlink { path: Vec<u8>, target: Vec<u8> },
    /// Write a piece of a large file that begins at this byte.
    Piece {
        target: Arc<Target>,
        at: u64,
        content: Bytes,
    },
}

impl Batch {
    pub(super) fn add(&mut self, order: Order) {
        self.len += order.len();
        self.orders.push(order);
    }

    /// Append the records of what the orders create to `records`.
    pub(super) fn record(&self, records: &mut Vec<u8>) {
        for record in self.orders.iter().filter_map(Order::record) {
            record.push(records);
        }
    }
}

impl Order {
    fn len(&self) -> usize {
        let held = match self {
            Self::File { path, content, .. } => path.len() + content.len(),
            Self::Hole { path, .. } => path.len(),
            Self::Symlink { path, target } => path.len() + target.len(),
            Self::Piece { content, .. } => content.len(),
        };
        AROUND_LEN + size_of::<Self>() + held
    }

    /// The record of what the order creates. A large file has its own.
    fn record(&self) -> Option<Record<'_>> {
        let (path, kind) = match self {
            Self::File {
                path,
                mode,
                content,
            } => {
                let (mode, size) = (*mode, content.len() as u64);
                let hash = ContentHash::of(content);
                (path, RecordKind::File { mode, size, hash })
            }
            Self::Hole { path, mode, size } => {
                let (mode, size) = (*mode, *size);
                (path, RecordKind::Hole { mode, size })
            }
            Self::Symlink { path, target } => {
                let hash = ContentHash::of(target);
                (path, RecordKind::Link { hash })
            }
            Self::Piece { .. } => return None,
        };
        Some(Record { path, kind })
    }
}
