//! Where a blob lies, found once: pack and chain of deltas, or loose file.
//!
//! Also guesses what it will take, from pack entry headers and file lengths alone; what the guess
//! misses, the pipeline makes up for.

use gix::ObjectId;

use super::{LOOSE_RATIO, entry::Blob};
use crate::{
    decode::chain::ChainBuilder,
    odb::{Odb, Place},
};

/// Where a blob lies and what it will take.
pub struct Located {
    /// Where its content is.
    pub blob: Blob,
    /// A guess at its size, in bytes.
    pub size: u64,
    /// A guess at the memory that decoding takes on top, in bytes.
    pub scratch: u64,
}

/// Find the content of `id`, or of its replacement.
pub fn locate(odb: &mut Odb, chains: &mut ChainBuilder, id: ObjectId) -> Located {
    let id = odb.config().replaced(&id);
    let unknown = Located {
        blob: Blob::Unknown,
        size: 0,
        scratch: 0,
    };
    match odb.find(&id) {
        Some(Place::Packed(pack, offset)) => {
            let Ok(id) = chains.add(odb, pack, offset) else {
                return unknown;
            };
            let node = chains.node(id);
            let size = node.estimate;
            // A delta is decoded beside its base, each as large as the result.
            let scratch = node.base().map_or(0, |_| 3 * size);
            Located {
                blob: Blob::Packed(id),
                size,
                scratch,
            }
        }
        Some(Place::Loose(dir)) => {
            let file = std::fs::metadata(odb.config().loose_path(dir, &id));
            let size = file.map_or(0, |file| file.len() * LOOSE_RATIO);
            Located {
                blob: Blob::Loose(dir),
                size,
                scratch: size,
            }
        }
        None => unknown,
    }
}
