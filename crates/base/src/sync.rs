//! The threads and channels of the pipeline and of the cache. `tests/schedules` compiles both with others in their place, whose
//! order it chooses. Must only name what exists elsewhere.

pub use std::{sync::Condvar, thread};

pub use crossbeam_channel as channel;
