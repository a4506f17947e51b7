//! Decoded bytes that threads share, within an allowance.
//!
//! Slots are locked one by one, for as long as it takes to copy a pointer.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use sluice_base::{buffer::Buffer, threads::Lock};

/// Holds a result that several nodes or entries need.
pub struct ObjectSlot {
    remaining: AtomicU32,
    kept: Lock<Option<Arc<DecodedObject>>>,
}

impl ObjectSlot {
    /// Create an empty slot for `uses` users.
    pub(super) fn new(uses: u32) -> Self {
        Self {
            remaining: AtomicU32::new(uses),
            kept: Lock::new(None),
        }
    }

    /// Create a slot that keeps its value for the whole run.
    pub(super) fn lasting() -> Self {
        Self::new(u32::MAX)
    }

    /// The result, if there is one.
    pub(super) fn kept(&self) -> Option<Arc<DecodedObject>> {
        self.kept.lock().clone()
    }

    /// Store the result for the other users.
    pub(super) fn put(&self, kept: Arc<DecodedObject>) {
        *self.kept.lock() = Some(kept);
    }

    /// Whether there is another user after the current one.
    pub(super) fn is_wanted_again(&self) -> bool {
        self.remaining.load(Ordering::Relaxed) > 1
    }

    /// Count one use as done. The last use empties the slot.
    pub(super) fn release(&self) {
        let before = self
            .remaining
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |uses| {
                Some(uses.saturating_sub(1))
            });
        if before.is_ok_and(|uses| uses <= 1) {
            self.kept.lock().take();
        }
    }
}

/// Decoded bytes in a slot, counted against the common allowance.
pub struct DecodedObject {
    /// The object.
    pub bytes: Buffer,
    allowance: Arc<Allowance>,
    charged: usize,
}

impl Drop for DecodedObject {
    fn drop(&mut self) {
        self.allowance
            .used
            .fetch_sub(self.charged, Ordering::Relaxed);
    }
}

/// The limit of the bytes in all slots of a run.
pub struct Allowance {
    limit: usize,
    used: AtomicUsize,
}

impl Allowance {
    /// Allow `limit` bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
        })
    }

    /// Charge `bytes` until the last holder drops them, or return them if the limit is reached.
    pub(super) fn keep(self: &Arc<Self>, bytes: Buffer) -> Result<Arc<DecodedObject>, Buffer> {
        let charged = bytes.capacity();
        if !self.charge(charged) {
            return Err(bytes);
        }
        Ok(Arc::new(DecodedObject {
            bytes,
            allowance: Arc::clone(self),
            charged,
        }))
    }

    fn charge(&self, bytes: usize) -> bool {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        let granted = used + bytes <= self.limit;
        if !granted {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        granted
    }
}
