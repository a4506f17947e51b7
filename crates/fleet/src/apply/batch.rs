//! Orders for a thread that creates files, with the content that they need. Must not touch the directory.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    hash::ContentHash,
    large::SharedFile,
    record::{PathRecord, RecordKind},
};

/// Orders that one thread carries out, one after the other.
pub(super) type Batch = Vec<Order>;

/// What a thread does next.
pub(super) enum Order {
    /// Create a file with this content.
    File {
        path: Vec<u8>,
        mode: u32,
        bytes: Bytes,
    },
    /// Create a file of this many zeros.
    Hole { path: Vec<u8>, mode: u32, size: u64 },
    /// Create a symbolic link.
    Symlink { path: Vec<u8>, target: Vec<u8> },
    /// Write a piece of a large file that begins at this byte.
    Piece {
        file: Arc<SharedFile>,
        at: u64,
        content: Bytes,
    },
}

impl Order {
    /// The record of what the order creates. A large file has its own.
    pub(super) fn record(&self) -> Option<PathRecord<'_>> {
        let (path, kind) = match self {
            Self::File { path, mode, bytes } => {
                let (mode, size) = (*mode, bytes.len() as u64);
                let hash = ContentHash::of(bytes);
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
        Some(PathRecord { path, kind })
    }
}
