//! The threads and channels of the pipeline and of the cache. `tests/schedules` compiles both with others in their place, whose
//! order it chooses. Must only name what exists elsewhere.

pub(crate) use std::{sync::Condvar, thread};

pub(crate) use crossbeam_channel as channel;
