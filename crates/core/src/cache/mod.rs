//! One producer, many readers: a directory of archives that processes share.
//!
//! The first process that asks for a key becomes the *producer*: its archive goes into a file of the directory, and from
//! there to the producer's client. A process that asks for the same key meanwhile is a *follower* and reads the growing
//! file from its start. A request for a complete archive is a *hit*. There is no server: the kernel's file locks name
//! the producer, and the kernel drops the lock of a process that dies.
//!
//! This module knows keys, files and bytes, and neither git nor archives. A failure of the directory must never fail
//! a request: the producer then writes to its client alone. A complete file is sent only after its key, its notes and the sum of
//! the chunk were verified. The kernel sends from the file, which takes half the time of sending the verified copy to a pipe, so
//! damage within this moment is not noticed. A growing file has no sums yet: its readers trust it. `tests/schedules` runs processes
//! of this module in many orders, some of which die between two steps.

mod client;
mod delivery;
mod directory;
mod entry;
mod follow;
mod jobs;
mod latest;
mod producer;
mod request;
mod quota;
mod reach;
mod admission;
mod settings;
mod stored;
mod table;
mod error;

pub use delivery::{complete, deliver, unusable};
pub use entry::LAYOUT;
pub use request::{Account, CacheRequest, Failure, Key, Produce, Role};
pub use settings::Settings;
pub use stored::StoredArchive;
