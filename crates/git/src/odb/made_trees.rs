//! Trees that a run has made from those of the repository. Nobody else sees them, and nothing is written.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use gix_hash::{ObjectId, hasher, oid};

use sluice_base::threads::Lock;

/// The trees that were made, by id. Most runs make none, and then a look-up costs nothing.
#[derive(Default)]
pub struct MadeTrees {
    has_any: AtomicBool,
    trees: Lock<HashMap<ObjectId, Arc<[u8]>>>,
}

impl MadeTrees {
    /// Adds the tree with this `content`, and returns its id. `None` if the id cannot be computed.
    pub fn add(&self, content: &[u8], kind: gix_hash::Kind) -> Option<ObjectId> {
        let mut hasher = hasher(kind);
        hasher.update(format!("tree {}\0", content.len()).as_bytes());
        hasher.update(content);
        let id = hasher.try_finalize().ok()?;
        self.trees.lock().insert(id, content.into());
        self.has_any.store(true, Ordering::Release);
        Some(id)
    }

    /// The content of the tree `id`, if it was made.
    pub fn get(&self, id: &oid) -> Option<Arc<[u8]>> {
        if !self.has_any.load(Ordering::Acquire) {
            return None;
        }
        self.trees.lock().get(id).cloned()
    }
}
