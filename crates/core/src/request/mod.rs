//! The meaning of the arguments, settled once: revision resolved, pathspecs parsed, limits fixed.
//!
//! The caller passes arguments and environment. No later module looks at a flag. This module must not read arguments or
//! variables itself, nor write to standard streams.

mod archived;
mod budget;
pub mod format;
mod clock;
mod configuration;
mod delta;
pub mod extra_file;
mod extras;
mod filter;
mod gzip;
mod host_defaults;
mod inputs;
mod key;
mod limits;
mod named;
mod outside;
mod partial;
mod sharing;
mod submodules;
mod profile;
mod purpose;
mod resolve;
mod run_log;
mod scope;
mod view_builder;

pub use archived::ArchivedRepository;
pub use budget::Budget;
pub use configuration::{KEYS, is_stable};
pub use delta::Delta;
pub use gzip::{KEY as GZIP_KEY, check as check_gzip};
pub use host_defaults::fill as fill_host_defaults;
pub use inputs::Inputs;
pub use limits::Limits;
pub use partial::PartialRequest;
pub use profile::options as profile_options;
pub use purpose::Purpose;
pub use run_log::{log_file, run_log};
pub use sharing::settings as cache_settings;

use std::{io::Write, sync::Arc};

use bstr::BString;
use gix_hash::ObjectId;

use crate::{
    cache,
    filter::rule::Rule,
    output::report::{ManifestHeader, Subject},
    plan::{BlobPolicy, ReadAhead, extra::Extra},
};
use format::Format;
use sluice_base::{error::format_bytes, io::print_line};
use sluice_cli::{ByteRange, Condition};
use sluice_format::zip::Times;
use sluice_git::{
    convert::Shareable,
    repository::{promisors::Promisors, settings::Umask},
};

/// For whom an archive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A user who can read the repository anyway.
    Local,
    /// The client of a server: refs and what they name, in the formats that the configuration allows.
    Remote,
}

/// One archive to be made. A clone begins at the first byte again.
#[derive(Clone)]
pub struct Request {
    /// What is archived.
    pub content: Content,
    /// How the archive is made and delivered.
    pub run: Run,
    /// The hash of the content, or why there is none.
    pub key: Result<cache::Key, String>,
    /// The hash of what archives have in common that may store the same files in the same way, if they are shared.
    pub family: Option<cache::Key>,
    /// Hash of all that decides which files an archive has, and with which content, except for the tree; or why there is none.
    /// Only deltas with equal hashes can follow each other.
    pub filters_hash: Result<cache::Key, String>,
}

/// All that decides the bytes of an archive. `key` hashes every field, or what the field follows from.
#[derive(Clone)]
pub struct Content {
    /// The format of the archive.
    pub format: Format,
    /// The name of the format.
    pub format_name: BString,
    /// The repository that was asked for, then those of submodules whose contents are archived.
    pub repositories: Vec<ArchivedRepository>,
    /// The delta, if only changes are archived.
    pub delta: Option<Box<Delta>>,
    /// The decisions about large, missing and binary blobs.
    pub blob_policy: Arc<BlobPolicy>,
    /// Whether the archive notes size, reason and id of entries.
    pub pax_notes: bool,
    /// The hash of the filters, if the archive notes it and there is one.
    pub filters: Option<String>,
    /// The files after those of the tree.
    pub extras: Arc<[Extra]>,
    /// The time of all entries, in seconds since 1970.
    pub mtime: u64,
    /// This time as zip tells it.
    pub times: Times,
    /// Permission bits that are withheld.
    pub umask: Umask,
}

/// How an archive is made and delivered, which changes none of its bytes.
#[derive(Clone)]
pub struct Run {
    /// Threads, the calling one included; by default as many as have a processor to spare.
    pub threads: Option<usize>,
    /// Limit of buffers and caches.
    pub budget: Budget,
    /// The most that the archive may take, unless it is to be published.
    pub limits: Limits,
    /// Whether the names of entries go to standard error.
    pub verbose: bool,
    /// The bytes of the archive that are wanted; `None` for all.
    pub range: Option<ByteRange>,
    /// Whether the archive, as far as it was made, follows from the key alone.
    pub shareable: Shareable,
    /// Where the archive is shared with others, if the user wants that.
    pub cache: Option<cache::Settings>,
    /// Where objects that the archive lacks are fetched from, if they are.
    pub promisors: Option<Promisors>,
    /// Threads that read ahead as long as the request exists.
    pub read_ahead: Arc<[ReadAhead]>,
    /// Exclude files that the user has named and no tree has.
    pub absent_rules: Vec<BString>,
    /// The rules of `--exclude-from` that can match no path.
    pub dead_rules: Vec<Rule>,
}

impl Request {
    /// The key of the bytes that the caller gets, or why there is none. A command of the configuration gets the archive of
    /// [`key`](Self::key), and may send any bytes.
    pub fn tag(&self) -> Result<cache::Key, String> {
        match self.content.format.command() {
            Some(_) => Err("a command of the configuration sends the archive".to_owned()),
            None => self.key.clone(),
        }
    }

    /// Whether the caller has the archive already.
    pub fn is_known(&self, condition: &Condition) -> bool {
        let tags = condition.if_none_match.as_deref();
        let key = self.tag().ok();
        tags.zip(key).is_some_and(|(tags, key)| key.is_among(tags))
    }

    /// What the manifest says first.
    pub fn manifest_header(&self) -> ManifestHeader {
        ManifestHeader {
            subject: self.content.subject(),
            commit_time: self.content.archived().treeish.commit_time(),
            filters: self.filters_hash.as_ref().ok().map(cache::Key::hex),
        }
    }
}

impl Content {
    /// The repository that was asked for.
    pub fn archived(&self) -> &ArchivedRepository {
        &self.repositories[0]
    }

    /// The ids of the archived commit, tree and base, for reports.
    pub fn subject(&self) -> Subject {
        let treeish = &self.archived().treeish;
        let hex = |id: ObjectId| id.to_hex().to_string();
        Subject {
            commit: treeish.commit.map(hex),
            tree: hex(treeish.tree),
            base: self.delta.as_ref().map(|delta| hex(delta.base)),
        }
    }
}

impl Run {
    /// Warns on `diagnostics` of exclude files that do not exist, and of rules without effect.
    pub fn warn(&self, diagnostics: &mut dyn Write) {
        for path in &self.absent_rules {
            let warning = format_bytes(
                "no tree contains the --exclude-from-tree file '{}'",
                &[path],
            );
            print_line(diagnostics, "warning: ", &warning);
        }
        for rule in &self.dead_rules {
            let template = "{} matches no path: a pattern starts without './' or '../'";
            print_line(
                diagnostics,
                "warning: ",
                &format_bytes(template, &[&rule.words()]),
            );
        }
    }
}
