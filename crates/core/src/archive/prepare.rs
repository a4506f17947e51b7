//! Takes a request apart: what plans the archive, what makes its pieces, and the memory of both.

use std::sync::Arc;

use bstr::BString;
use gix_hash::ObjectId;

use super::{
    archiver::Archiver,
    donor::Inheritance,
    find_in_tar::find_in_tar,
    store::{Store, Stores},
};
use crate::{
    output,
    plan::{KnownBlobs, Locators, PlannedTree, Planner, ReadAhead, delta::Deletion},
    request::{ArchivedRepository, Content, Delta, Request, Run, format::Container},
};
use sluice_base::{error::Result, pipeline::Limits};
use sluice_cli as cli;
use sluice_format::tar::{Globals, Tar};
use sluice_git::{
    command::CommandContext,
    convert::{Converter, Origin, Shareable},
    objects::{repeated::Repeated, slot::Allowance},
    program::ArchiveRules,
    repository::{settings::Umask, treeish::Treeish},
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
        let Request { content, run, .. } = request;
        let PlannedTree { tree, rules, .. } = content.archived().tree;
        let repeated = Repeated::new(run.budget.repeated_blobs());
        let (mut stores, mut trees) = (Vec::new(), Vec::new());
        for repository in content.repositories {
            let policy = Arc::clone(&content.blob_policy);
            let odb = repository.tree.reader.odb.clone();
            let locators = Locators::new(odb, policy, Arc::clone(&repeated));
            let (store, tree) = store(repository, locators, &run);
            stores.push(store);
            trees.push(tree);
        }
        let archiver = Archiver {
            format,
            stores: Stores::new(stores),
            extras: Arc::clone(&content.extras),
            in_memory: run.budget.whole_object(),
            blob_policy: content.blob_policy,
            pax_notes: content.pax_notes,
            redacted: rules.redacted,
            verified: rules.protect.map(|_| (tree, rules)),
            manifest,
            allowance: Allowance::new(run.budget.delta_bases()),
            scratch_max: run.budget.scratch(),
            verbose: run.verbose,
            donates: false,
            donor: None,
        };
        Ok(Self {
            archiver,
            planner: Planner::new(trees, content.extras),
            limits,
            shareable: run.shareable,
            read_ahead: run.read_ahead,
        })
    }

    /// Copies files from an earlier archive, and notes what the next one can copy.
    pub(super) fn inheriting(mut self, inheritance: &Inheritance) -> Self {
        self.archiver.donates = inheritance.max_index > 0;
        let Some(donor) = &inheritance.donor else {
            return self;
        };
        self.archiver.donor = Some(Arc::clone(donor));
        let known: Arc<dyn KnownBlobs> = donor.clone();
        self.read_ahead.iter().for_each(|ahead| ahead.know(&known));
        for store in self.archiver.stores.iter() {
            store.locators.know(Arc::clone(&known));
        }
        self
    }
}

/// The store of `repository`, and its tree.
fn store(repository: ArchivedRepository, locators: Locators, run: &Run) -> (Store, PlannedTree) {
    let submodule = repository.path().to_owned();
    let ArchivedRepository {
        tree,
        treeish,
        command_context,
        big_file,
        has_plain_parents: _,
    } = repository;
    let rules = archive_rules(&tree, &command_context, run);
    let store = Store {
        locators,
        odb: tree.reader.odb.config().clone(),
        big_file,
        converter: Converter::new(
            origin(treeish, rules),
            command_context,
            run.shareable.clone(),
        ),
        naming: tree.view.naming.clone(),
        submodule,
        entered: Arc::clone(&tree.entered),
    };
    (store, tree)
}

/// How git would archive `tree`.
fn archive_rules(tree: &PlannedTree, context: &CommandContext, run: &Run) -> ArchiveRules {
    let selection = &tree.view.selection;
    // Without attributes of its own, the archived directory is not the current one.
    let is_from_root = selection.relative.is_none();
    ArchiveRules {
        worktree_attributes: tree.rules.protect.is_none(),
        may_fetch: run.promisors.is_some(),
        top: context.directory.clone().filter(|_| is_from_root),
        below: if is_from_root {
            selection.below.clone()
        } else {
            BString::default()
        },
    }
}

fn origin(treeish: Treeish, rules: ArchiveRules) -> Origin {
    Origin {
        commit: treeish.commit,
        content: treeish.content,
        tree: treeish.tree,
        reference: treeish.reference,
        rules,
        find_in_tar,
    }
}

fn limits(Request { content, run, .. }: &Request) -> Limits {
    let reads_ahead = content.archived().tree.reader.odb.reads_ahead();
    Limits {
        threads: run.threads.or(reads_ahead.then_some(COLD_THREADS)),
        max_threads: usize::MAX,
        budget: match content.format.row().container {
            Container::CompressedTar => run.budget.in_flight_to_compressor(),
            Container::Tar | Container::Zip => run.budget.in_flight(),
        },
        queued: run.budget.queued_windows(),
    }
}

/// The comment of the archive: the id of the commit.
pub(super) fn comment(content: &Content) -> Option<String> {
    let commit = content.archived().treeish.commit;
    commit.map(|id| id.to_hex().to_string())
}

/// The tar with `content`, before any compression.
pub(super) fn tar(content: &Content) -> Tar {
    Tar {
        mtime: content.mtime,
        umask: match content.umask {
            Umask::Bits(bits) => bits,
            Umask::User => output::umask(),
        },
        comment: comment(content),
        globals: match (&content.delta, content.filters.clone()) {
            (None, None) => Globals::default(),
            (None, Some(filters)) => {
                Globals::new(move |headers| headers.record("GITSLUICE.filters", filters.as_bytes()))
            }
            (Some(delta), filters) => globals(delta, filters),
        },
    }
}

/// The global headers that mark a tar as a delta, made with `filters`.
fn globals(delta: &Delta, filters: Option<String>) -> Globals {
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
        let filters = filters.as_deref().unwrap_or("none");
        headers.record("GITSLUICE.filters", filters.as_bytes())?;
        headers.end()?;
        if lists_deletions {
            // Numbered, because readers keep only the last of equal keys.
            let mut number = 0;
            deletions.each(&mut |deletion: &Deletion| {
                number += 1;
                headers.record(&format!("GITSLUICE.delete.{number}"), &deletion.name)
            })?;
            number = 0;
            deletions.each_added(&mut |name| {
                number += 1;
                headers.record(&format!("GITSLUICE.add.{number}"), name)
            })?;
        }
        Ok(())
    })
}
