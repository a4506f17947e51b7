//! Where a blob lies, found once: pack and chain of deltas, or loose file.
//!
//! Also guesses what it will take, from pack entry headers and file lengths alone; what the guess
//! misses, the pipeline makes up for.

use gix::ObjectId;

use super::{Blob, LOOSE_RATIO};
use crate::{
    decode::chain::ChainBuilder,
    odb::{Odb, Place},
};

/// Find the content of `id` (or of its replacement), with a guess at its size and at the memory
/// that decoding takes on top, in bytes.
pub fn locate(odb: &mut Odb, chains: &mut ChainBuilder, id: ObjectId) -> (Blob, u64, u64) {
    let id = odb.config().replaced(&id);
    match odb.find(&id) {
        Some(Place::Packed(pack, offset)) => match chains.add(odb, pack, offset) {
            Ok(node) => {
                let node_info = chains.node(node);
                let size = node_info.estimate;
                // A delta is decoded beside its base, each as large as the result.
                let scratch = if node_info.base().is_some() {
                    3 * size
                } else {
                    0
                };
                (Blob::Packed(node), size, scratch)
            }
            Err(_) => (Blob::Unknown, 0, 0),
        },
        Some(Place::Loose(dir)) => {
            let file = std::fs::metadata(odb.config().loose_path(dir, &id));
            let size = file.map_or(0, |file| file.len() * LOOSE_RATIO);
            (Blob::Loose(dir), size, size)
        }
        None => (Blob::Unknown, 0, 0),
    }
}
