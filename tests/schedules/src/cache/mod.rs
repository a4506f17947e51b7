//! The whole cache, whose processes are threads here: they share a real directory, and the system keeps their locks apart,
//! since each opens its own files.

#[path = "../../../../crates/core/src/cache/admission.rs"]
mod admission;
#[path = "../../../../crates/core/src/cache/client.rs"]
mod client;
#[path = "../../../../crates/core/src/cache/delivery.rs"]
mod delivery;
mod directory;
#[path = "../../../../crates/core/src/cache/entry.rs"]
mod entry;
#[path = "../../../../crates/core/src/cache/error.rs"]
mod error;
#[path = "../../../../crates/core/src/cache/follow.rs"]
mod follow;
#[path = "../../../../crates/core/src/cache/jobs.rs"]
mod jobs;
#[path = "../../../../crates/core/src/cache/latest.rs"]
mod latest;
#[path = "../../../../crates/core/src/cache/producer/mod.rs"]
mod producer;
#[path = "../../../../crates/core/src/cache/quota.rs"]
mod quota;
#[path = "../../../../crates/core/src/cache/directory.rs"]
#[allow(dead_code)]
mod real_directory;
#[path = "../../../../crates/core/src/cache/request.rs"]
mod request;
#[path = "../../../../crates/core/src/cache/settings.rs"]
mod settings;
#[path = "../../../../crates/core/src/cache/stored.rs"]
mod stored;
#[path = "../../../../crates/core/src/cache/table.rs"]
mod table;

pub use delivery::{complete, deliver, unusable};
pub use entry::LAYOUT;
pub use request::{Account, CacheRequest, Failure, Key, Produce, Role};
pub use settings::Settings;
pub use stored::StoredArchive;
