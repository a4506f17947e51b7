//! Whether an archive may be given to others who ask for the same.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Tells whether an archive follows from its request alone. The archive does not if a command of the user or the
/// installed git has a part in it, if it comes with a message, or if it is cut. Clones share this.
#[derive(Clone, Debug, Default)]
pub struct Shareable {
    is_private: Arc<AtomicBool>,
    varies: Arc<AtomicBool>,
}

impl Shareable {
    /// From here on the archive depends on more than the request.
    pub fn withdraw(&self) {
        self.is_private.store(true, Ordering::Release);
    }

    /// From here on the archive has a file that may have another content when the same commit is archived again.
    pub fn vary(&self) {
        self.varies.store(true, Ordering::Release);
    }

    /// Whether the archive so far has such a file.
    pub fn varies(&self) -> bool {
        self.varies.load(Ordering::Acquire)
    }

    /// Whether the archive so far follows from the request alone.
    pub fn holds(&self) -> bool {
        !self.is_private.load(Ordering::Acquire)
    }
}
