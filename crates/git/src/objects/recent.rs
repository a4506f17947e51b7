//! A cache of recently decoded objects, as bases for a reader of single objects.
//!
//! Similar trees are deltas of each other: the old and the new version of a directory, and its neighbours.
//! The cache is small and drops the oldest object first.

use std::{collections::VecDeque, sync::Arc};

use super::slot::{Allowance, DecodedObject};
use crate::odb::pack::Pack;
use sluice_base::buffer::Buffer;

/// The most cached objects: a linear search is quick.
const MAX_BASES: usize = 32;
/// How many times larger than needed a buffer may be. The whole buffer counts against the allowance.
const SPARE_WASTE: usize = 4;

/// Decoded objects, the oldest first.
pub(super) struct Recent {
    allowance: Arc<Allowance>,
    /// The largest cached object in bytes. A larger one would displace too many others.
    max: usize,
    bases: VecDeque<Base>,
}

struct Base {
    pack: Arc<Pack>,
    /// The offset of the entry's zlib stream.
    data: u64,
    kept: Arc<DecodedObject>,
}

impl Recent {
    /// Hold at most `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            allowance: Allowance::new(bytes),
            max: bytes / 4,
            bases: VecDeque::new(),
        }
    }

    /// Whether an object of `size` bytes may be cached.
    pub(super) fn would_hold(&self, size: u64) -> bool {
        size <= self.max as u64
    }

    /// The decoded entry of `pack` whose stream begins at `data`, if it is cached.
    pub(super) fn find(&self, pack: &Arc<Pack>, data: u64) -> Option<Arc<DecodedObject>> {
        let is_it = |base: &&Base| base.data == data && Arc::ptr_eq(&base.pack, pack);
        self.bases
            .iter()
            .rev()
            .find(is_it)
            .map(|base| Arc::clone(&base.kept))
    }

    /// A buffer for about `size` bytes. In a full cache, the buffer of the oldest object is reused if it
    /// suits.
    pub(super) fn buffer(&mut self, size: usize) -> Buffer {
        if self.bases.len() < MAX_BASES {
            return Buffer::default();
        }
        let oldest = self.bases.pop_front();
        let kept = oldest.and_then(|base| Arc::into_inner(base.kept));
        let bytes = kept.map(|mut kept| std::mem::take(&mut kept.bytes));
        bytes.filter(|bytes| suits(bytes, size)).unwrap_or_default()
    }

    /// Cache `bytes`, the decoded entry of `pack` whose stream begins at `data`, or return them if they are
    /// too many.
    pub(super) fn keep(
        &mut self,
        pack: &Arc<Pack>,
        data: u64,
        mut bytes: Buffer,
    ) -> Result<Arc<DecodedObject>, Buffer> {
        if bytes.capacity() > self.max {
            return Err(bytes);
        }
        loop {
            match self.allowance.keep(bytes) {
                Ok(kept) => {
                    if self.bases.len() == MAX_BASES {
                        self.bases.pop_front();
                    }
                    self.bases.push_back(Base {
                        pack: Arc::clone(pack),
                        data,
                        kept: Arc::clone(&kept),
                    });
                    return Ok(kept);
                }
                Err(refused) if self.bases.pop_front().is_none() => return Err(refused),
                Err(refused) => bytes = refused,
            }
        }
    }
}

/// Whether `buffer` has room for `size` bytes without much waste.
pub(super) fn suits(buffer: &Buffer, size: usize) -> bool {
    (size..=size.saturating_mul(SPARE_WASTE)).contains(&buffer.capacity())
}
