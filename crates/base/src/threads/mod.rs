//! Threads of a scope that do any work, and a lock that outlives a panic. Nothing here knows a format.

mod lock;
mod workers;

pub use lock::Lock;
pub use workers::Workers;
