//! Threads that do any work, and memory that the next piece of work uses again. The pool knows no format.

mod free_list;
mod lock;
mod pool;
mod workers;

pub use free_list::FreeList;
pub use lock::Lock;
pub use pool::{Pool, Promise};
pub use workers::Workers;
