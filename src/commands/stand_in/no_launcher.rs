//! There is no launcher for this system.

pub(super) fn program(_script: &[u8]) -> Option<Vec<u8>> {
    None
}
