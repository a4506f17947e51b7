//! A delta: both sides viewed with the same options and compared once, before the first byte is written.

use std::{io::Write, sync::Arc};

use bstr::BStr;
use gix_hash::ObjectId;

use super::archived::ArchivedRepository;
use crate::{
    cache::Key,
    output::report::ChangeCounts,
    plan::delta::{Bounds, Changes, Deletions, DeltaRules, Diff, DiffSummary, Side},
};
use sluice_base::error::{Error, FULL_ARCHIVE, Result, format_bytes};
use sluice_cli as cli;
use sluice_cli::{Delta as Args, Profile, word};
use sluice_git::{objects::reader::Reader, repository::Repository};

/// A delta to be sent. Its changes are in the archived repositories.
#[derive(Clone)]
pub struct Delta {
    /// The number of changes.
    pub counts: ChangeCounts,
    /// The deleted paths, in order.
    pub deletions: Arc<Deletions>,
    /// The commit or tree of the base.
    pub base: ObjectId,
    /// The commit or tree of the target.
    pub target: ObjectId,
    /// How the archive lists the deleted paths.
    pub deletion_format: cli::Deletions,
    /// The submodules of the target, with and without changes.
    pub submodules: Arc<[ArchivedRepository]>,
}

/// The changes between two trees of one repository.
pub(super) struct RepositoryChanges {
    /// The changes, for the archive.
    pub(super) changes: Changes,
    /// The number of changes.
    pub(super) counts: ChangeCounts,
    /// The deleted paths, in order.
    pub(super) deletions: Arc<Deletions>,
}

impl RepositoryChanges {
    /// Compares the sides `old` and `new`, whose objects `reader` reads, and finds the deletions. Changes are cached as far as
    /// they fit.
    pub(super) fn new(
        [old, new]: [Side; 2],
        (rules, bounds): (DeltaRules, Bounds),
        reader: Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<Self> {
        let diff = Diff::new(old, new, rules);
        let DiffSummary { deletions, found } = DiffSummary::take(diff.another(), reader, bounds)?;
        // As git does not mind whether anybody reads it.
        let _ = diagnostics.write_all(&found.complaints);
        Ok(Self {
            changes: Changes::new(diff, found.cached, found.directories),
            counts: found.changes,
            deletions: Arc::new(deletions),
        })
    }

    /// Adds the `inner` changes in submodules. Fails if there are more than `limit` together.
    pub(super) fn with_inner(
        self,
        counts: ChangeCounts,
        deletions: Vec<Arc<Deletions>>,
        limit: Option<u64>,
    ) -> Result<Self> {
        let mut all = self.counts;
        all += counts;
        if let Some(limit) = limit.filter(|limit| all.total() > *limit) {
            return Err(Error::too_many_changes(limit));
        }
        Ok(Self {
            counts: all,
            deletions: Arc::new(self.deletions.after(deletions)),
            ..self
        })
    }
}

/// The most changes that are sent, by the options in `args`; `count` counts the entries of the target.
pub(super) fn limit(args: &Args, count: impl FnOnce() -> Result<u64>) -> Result<Option<u64>> {
    let Some(part) = args.max_changed_ratio else {
        return Ok(args.max_changed_paths);
    };
    let paths = (count()? as f64 * part) as u64;
    let given = args.max_changed_paths;
    Ok(Some(given.map_or(paths, |given| given.min(paths))))
}

/// The error of a base `name` that cannot be read: shallow, pruned, rewritten, never there.
pub(super) fn unavailable(repository: &Repository, name: &BStr, error: Error) -> Error {
    // A remote sends commits by their ids, and refuses other names.
    let is_id = ObjectId::from_hex(name).is_ok();
    let is_shallow = repository.is_shallow();
    let hint = if is_shallow && is_id {
        format_bytes(
            "leave out --base to get a full archive, or run 'git fetch --depth=1 <remote> {}' first",
            &[name],
        )
    } else {
        FULL_ARCHIVE.into()
    };
    Error::fatal(format_bytes("cannot read the base '{}'", &[name]))
        .without_base()
        .caused_by(error.without_label())
        .hinted(hint)
}

/// Refuses a delta for an indexer that learns nowhere which files were deleted: it would keep them, or take the changes for all
/// files.
pub(super) fn fit_reader(args: &cli::Args) -> Result<()> {
    let profile = args.filters.profile.filter(|it| *it != Profile::Git);
    let is_untold = args.delta.base.is_some()
        && args.delta.deletions == Some(cli::Deletions::None)
        && !args.has_manifest;
    let Some(profile) = profile.filter(|_| is_untold) else {
        return Ok(());
    };
    let refused = format!(
        "an indexer with --profile={} would miss deleted files",
        word(profile)
    );
    Err(Error::usage(refused)
        .caused_by("--deletions=none leaves deletions to the manifest, and there is none")
        .hinted("add --manifest=<file>, or remove --deletions=none"))
}

/// Refuses a base that was sent with other filters than this archive, whose filters have the hash `own`.
pub(super) fn fit_filters(args: &Args, own: Result<&Key, &String>) -> Result<()> {
    let Some(of_base) = &args.base_filters else {
        return Ok(());
    };
    let refused = |cause: &str| {
        let error = Error::fatal("the base may have been sent with other filters");
        error
            .without_base()
            .caused_by(cause.to_owned())
            .hinted(FULL_ARCHIVE)
    };
    match own {
        Ok(own) if own.hex() == *of_base => Ok(()),
        Ok(own) => Err(refused(&format!("these have the hash {}", own.hex()))),
        Err(reason) => Err(refused(reason)),
    }
}

/// Refuses deletions that a zip cannot carry.
pub(super) fn fit_zip(args: &Args) -> Result<()> {
    if args.base.is_some() && args.deletions != Some(cli::Deletions::None) {
        return Err(Error::usage("a zip cannot record deletions")
            .hinted("use a tar, or --deletions=none with --manifest=<file>"));
    }
    Ok(())
}
