//! The whole cache, whose processes are threads here: they share a real directory, and the system keeps their locks apart,
//! since each opens its own files.

#[path = "../../../../src/cache/admission.rs"]
mod admission;
#[path = "../../../../src/cache/client.rs"]
mod client;
#[path = "../../../../src/cache/delivery.rs"]
mod delivery;
mod directory;
#[path = "../../../../src/cache/entry.rs"]
mod entry;
#[path = "../../../../src/cache/error.rs"]
mod error;
#[path = "../../../../src/cache/follow.rs"]
mod follow;
#[path = "../../../../src/cache/jobs.rs"]
mod jobs;
#[path = "../../../../src/cache/latest.rs"]
mod latest;
#[path = "../../../../src/cache/producer/mod.rs"]
mod producer;
#[path = "../../../../src/cache/quota.rs"]
mod quota;
#[path = "../../../../src/cache/directory.rs"]
#[allow(dead_code)]
mod real_directory;
#[path = "../../../../src/cache/request.rs"]
mod request;
#[path = "../../../../src/cache/settings.rs"]
mod settings;
#[path = "../../../../src/cache/stored.rs"]
mod stored;
#[path = "../../../../src/cache/table.rs"]
mod table;

pub use delivery::{complete, deliver, unusable};
pub use entry::LAYOUT;
pub use request::{Account, CacheRequest, Failure, Key, Produce, Role};
pub use settings::Settings;
pub use stored::{BadChunk, StoredArchive};
