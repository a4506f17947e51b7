//! Threads that do any work, and memory that the next piece of work uses again. The pool knows no format.

mod free_list;
mod threads;

pub use free_list::FreeList;
pub use threads::{Pool, Promise};
