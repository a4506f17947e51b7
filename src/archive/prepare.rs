//! Takes a request apart: what plans the archive, what makes its pieces, and the memory of both.

use std::sync::Arc;

use gix::ObjectId;

use super::{
    archiver::Archiver,
    store::{Store, Stores},
};
use crate::{
    base::{error::Result, pipeline::Limits},
    cli,
    format::tar::{Globals, Tar},
    git::{
        convert::{Converter, Origin, Shareable},
        objects::{repeated::Repeated, slot::Allowance},
        repository::{settings::Umask, treeish::Treeish},
    },
    output,
    plan::{Locators, PlannedTree, Planner, ReadAhead, delta::Deletion},
    request::{Delta, Request, format::Format},
};

/// Threads for a repository that is not in memory, if the user does not choose: a thread that waits for storage leaves its
/// processor idle. With two, git.git at 5 ms for each read takes 1.8 times as long.
const COLD_THREADS: usize = 8;

/// The parts that a pipeline is made of.
pub(super) struct Prepared<F> {
    pub(super) archiver: Archiver<F>,
    pub(super) planner: Planner,
    pub(super) limits: Limits,
    pub(super) shareable: Shareable,
    /// Reads ahead until the archive is written.
    pub(super) read_ahead: Arc<[ReadAhead]>,
}

impl<F> Prepared<F> {
    /// The parts for `request`, whose archive is written in `format`. `manifest` says whether lines of a manifest are
    /// wanted.
    pub(super) fn new(format: F, request: Request, manifest: bool) -> Result<Self> {
        let limits = limits(&request);
        let shareable = request.shareable;
        let repeated = Repeated::new(request.budget.repeated_blobs());
        let PlannedTree { tree, rules, .. } = request.repositories[0].tree;
        let (mut stores, mut trees) = (Vec::new(), Vec::new());
        for repository in request.repositories {
            let submodule = repository.path().to_owned();
            let tree = repository.tree;
            let odb = &tree.reader.odb;
            let (policy, repeated) = (Arc::clone(&request.blob_policy), Arc::clone(&repeated));
            stores.push(Store {
                locators: Locators::new(odb.clone(), policy, repeated),
                odb: odb.config().clone(),
                big_file: repository.big_file,
                converter: Converter::new(
                    origin(repository.treeish),
                    repository.command_context,
                    shareable.clone(),
                ),
                prefix_len: tree.view.prefix.len(),
                below: tree.view.selection.below.clone(),
                submodule,
                entered: Arc::clone(&tree.entered),
            });
            trees.push(tree);
        }
        let archiver = Archiver {
            format,
            stores: Stores::new(stores),
            extras: Arc::clone(&request.extras),
            in_memory: request.budget.whole_object(),
            blob_policy: request.blob_policy,
            pax_notes: request.pax_notes,
            redacted: rules.redacted,
            verified: rules.protect.map(|_| (tree, rules)),
            manifest,
            allowance: Allowance::new(request.budget.delta_bases()),
            scratch_max: request.budget.scratch(),
            verbose: request.verbose,
        };
        Ok(Self {
            archiver,
            planner: Planner::new(trees, request.extras),
            limits,
            shareable,
            read_ahead: request.read_ahead,
        })
    }
}

fn origin(treeish: Treeish) -> Origin {
    Origin {
        commit: treeish.commit,
        content: treeish.content,
        tree: treeish.tree,
        reference: treeish.reference,
    }
}

fn limits(request: &Request) -> Limits {
    let reads_ahead = request.archived().tree.reader.odb.reads_ahead();
    Limits {
        threads: request.threads.or(reads_ahead.then_some(COLD_THREADS)),
        max_threads: usize::MAX,
        budget: match request.format {
            Format::TarGz(..) | Format::TarZst(_) => request.budget.in_flight_to_compressor(),
            _ => request.budget.in_flight(),
        },
        queued: request.budget.queued_windows(),
    }
}

/// The comment of the archive: the id of the commit.
pub(super) fn comment(request: &Request) -> Option<String> {
    let commit = request.archived().treeish.commit;
    commit.map(|id| id.to_hex().to_string())
}

/// The tar that `request` asks for, before any compression.
pub(super) fn tar(request: &Request) -> Tar {
    Tar {
        mtime: request.archived().treeish.time,
        umask: match request.umask {
            Umask::Bits(bits) => bits,
            Umask::User => output::umask(),
        },
        comment: comment(request),
        globals: request
            .delta
            .as_deref()
            .map_or_else(Globals::default, globals),
    }
}

/// The global headers that mark a tar as a delta.
fn globals(delta: &Delta) -> Globals {
    let hex = |id: ObjectId| id.to_hex().to_string();
    let (base, target) = (hex(delta.base), hex(delta.target));
    let deletions = Arc::clone(&delta.deletions);
    let (format, lists_deletions) = match delta.deletion_format {
        cli::Deletions::None => ("none", false),
        cli::Deletions::Pax => ("pax", true),
    };
    Globals::new(move |headers| {
        headers.record("GITSLUICE.delta", b"1")?;
        headers.record("GITSLUICE.base", base.as_bytes())?;
        headers.record("GITSLUICE.target", target.as_bytes())?;
        headers.record("GITSLUICE.deletions", format.as_bytes())?;
        headers.end()?;
        if lists_deletions {
            // Numbered, because readers keep only the last of equal keys.
            let mut number = 0;
            deletions.each(&mut |deletion: &Deletion| {
                number += 1;
                headers.record(&format!("GITSLUICE.delete.{number}"), &deletion.name)
            })?;
        }
        Ok(())
    })
}
