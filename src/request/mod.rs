//! What the arguments mean, settled once: revision resolved, pathspecs parsed, limits fixed.
//!
//! Made from arguments and an environment that are handed in; after this nobody looks at a flag.

mod budget;
pub mod format;
mod clock;
mod delta;
mod filter;
mod profile;
mod resolve;
mod viewing;

pub use budget::Budget;
pub use delta::Delta;
pub use profile::printed as printed_profile;
pub use resolve::Inputs;
pub use viewing::Scope;

use std::sync::Arc;

use crate::{
    decode::reader::Reader,
    deflate::Dialect,
    emit::zip::Times,
    plan::{BlobPolicy, extra::Extra},
    process::command::CommandContext,
    report::Subject,
    repository::{settings::Umask, treeish::Treeish},
    tree::Rules,
};
use format::Format;

/// For whom an archive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Somebody who can read the repository anyway.
    Local,
    /// The client of a server: refs and what they name, in the formats that the configuration allows.
    Remote,
}

/// One archive to be made.
pub struct Request {
    /// Its format.
    pub format: Format,
    /// What to archive.
    pub treeish: Treeish,
    /// Where commands run.
    pub command_context: CommandContext,
    /// What of it, as what, and under which names.
    pub scope: Scope,
    /// What is wanted of the blobs.
    pub blob_policy: Arc<BlobPolicy>,
    /// Whether size, reason and id of entries are noted in the archive.
    pub pax_notes: bool,
    /// Whose bytes a tar.gz has.
    pub gzip_dialect: Dialect,
    /// Files that come behind the tree's.
    pub extras: Arc<[Extra]>,
    /// The archive's time as zip tells it.
    pub times: Times,
    /// How trees are read.
    pub rules: Rules,
    /// Permission bits that are withheld.
    pub umask: Umask,
    /// Files above this many bytes are not converted.
    pub big_file: u64,
    /// Threads, the calling one included; by default as many as there are cores to run on.
    pub threads: Option<usize>,
    /// Ceiling for buffers and caches.
    pub budget: Budget,
    /// Whether the names of entries are told.
    pub verbose: bool,
    /// Reads the objects of the repository.
    pub reader: Reader,
}

impl Request {
    /// What is archived, as reports have it.
    pub fn subject(&self) -> Subject {
        Subject {
            commit: self.treeish.commit.map(|id| id.to_hex().to_string()),
            tree: self.treeish.tree.to_hex().to_string(),
            base: match &self.scope {
                Scope::Whole(_) => None,
                Scope::Delta(delta) => Some(delta.base.to_hex().to_string()),
            },
        }
    }
}
