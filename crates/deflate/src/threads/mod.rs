//! The threads on which the pieces of a stream are made, and memory that the next piece uses again. Nothing here knows deflate,
//! so that another compressor can work in pieces, too.

mod free_list;
mod pool;

pub use free_list::FreeList;
pub use pool::{Pool, Promise};
