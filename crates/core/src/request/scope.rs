//! The scope of a request: a tree with its submodules, or the changes between two of them.

use std::{io::Write, os::unix::ffi::OsStrExt, sync::Arc};

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;

use super::{
    archived::{ArchivedRepository, ResolvedTree},
    delta::{self, Delta},
    purpose::Purpose,
    view_builder::ViewBuilder,
};
use crate::plan::{ReadAhead, delta::Bounds, outer::Entered, select::Selection};
use sluice_base::error::Result;
use sluice_cli as cli;
use sluice_git::{
    objects::reader::Reader,
    repository::{
        Repository,
        treeish::{self, Treeish},
    },
    tree::Mount,
};

/// The trees of a request that are read ahead at a time, those of submodules included.
const MAX_READ_AHEAD: usize = 8;

/// The files that are archived.
pub(super) struct Scope {
    /// The repository that was asked for, then those of submodules. Of a delta, only submodules with changes.
    pub(super) repositories: Vec<ArchivedRepository>,
    /// The delta, unless everything is archived that the repositories show.
    pub(super) delta: Option<Box<Delta>>,
}

impl ViewBuilder<'_> {
    /// The scope in `target` of `repository`. Warnings go to `diagnostics`.
    pub(super) fn scope(
        &self,
        repository: &Repository,
        reader: &mut Reader,
        target: &Treeish,
        diagnostics: &mut dyn Write,
    ) -> Result<Scope> {
        let name = self.args.content.treeish.as_deref().unwrap_or_default();
        let name = name.as_bytes().as_bstr();
        let new = self.seen(repository, (name, target), reader, diagnostics)?;
        let Some(base) = &self.args.delta.base else {
            new.matched?;
            return Ok(Scope {
                repositories: new.repositories,
                delta: None,
            });
        };
        let name = base.as_bytes().as_bstr();
        self.filters.fit_name(name)?;
        let base = treeish::resolve(repository, reader, name, diagnostics)
            .map_err(|error| delta::unavailable(repository, name, error))?;
        // Warnings about rules were given for the target.
        let unheard = &mut std::io::sink();
        let old = self.seen(repository, (name, &base), reader, unheard);
        let old = old.map_err(|error| {
            if self.filters.enters_submodules() {
                error.without_base()
            } else {
                error
            }
        })?;
        if let Err(error) = new.matched {
            // A pathspec without a match in the target may match in the base.
            old.matched.map_err(|_| error)?;
        }
        self.delta([&old.repositories, &new.repositories], diagnostics)
    }

    /// The changes from the side `old` to `new`.
    fn delta(
        &self,
        [old, new]: [&[ArchivedRepository]; 2],
        diagnostics: &mut dyn Write,
    ) -> Result<Scope> {
        let args = &self.args.delta;
        let limit = delta::limit(args, || new.iter().map(ArchivedRepository::count).sum())?;
        let bounds = Bounds {
            changes: limit,
            cached_bytes: self.budget.changes(),
            threads: self.args.run.threads.map(usize::from),
        };
        let inner = self.submodule_changes([old, new], bounds, diagnostics)?;
        let own = self.compare((Some(&old[0]), Some(&new[0])), bounds, diagnostics)?;
        let own = own.with_inner(inner.counts, inner.deletions, limit)?;
        let mut archived = new[0].clone();
        archived.tree.entered = Arc::new(inner.entered);
        archived.tree.changes = Some(Box::new(own.changes));
        let [base, target] = [old, new].map(|side| side[0].treeish.id());
        Ok(Scope {
            repositories: std::iter::once(archived).chain(inner.submodules).collect(),
            delta: Some(Box::new(Delta {
                counts: own.counts,
                deletions: own.deletions,
                base,
                target,
                deletion_format: args.deletions.unwrap_or(cli::Deletions::Pax),
                submodules: new[1..].into(),
            })),
        })
    }

    /// Starts to read ahead below `selection` in `tree`, if its repository is not in memory. A delta by stored bytes reads only
    /// directories that differ, and an explanation only those above its paths.
    pub(super) fn read_ahead_from(&self, reader: &Reader, tree: ObjectId, selection: &Selection) {
        let is_delta = self.args.delta.base.is_some();
        if is_delta && self.filters.is_raw() || self.purpose == Purpose::Explain {
            return;
        }
        let with_files =
            self.purpose == Purpose::Archive && !is_delta && self.filters.send_all_files();
        let mut running = self.read_ahead.borrow_mut();
        running.retain(ReadAhead::is_running);
        if running.len() == MAX_READ_AHEAD {
            return;
        }
        let is_submodule = selection.mount != Mount::default();
        // All submodules together get as much memory as the archived tree.
        let share = if is_submodule { MAX_READ_AHEAD } else { 1 };
        let ahead = ReadAhead::start(
            reader,
            (tree, &selection.mount),
            Arc::clone(&selection.pathspecs),
            with_files,
            self.budget.directories_ahead() / share,
        );
        running.extend(ahead);
    }

    /// `treeish`, which the user calls `name`, as the options ask to see it.
    fn seen(
        &self,
        repository: &Repository,
        (name, treeish): (&BStr, &Treeish),
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<ResolvedTree> {
        let (mut selection, filter) = self.parts(reader, treeish, diagnostics)?;
        self.read_ahead_from(reader, treeish.tree, &selection);
        let tree = self.with_copies(reader, treeish.tree, &mut selection, &filter)?;
        if self.filters.enters_submodules() {
            let found = (selection, filter);
            return self.seen_with_submodules(
                repository,
                (name, treeish, tree),
                found,
                reader,
                diagnostics,
            );
        }
        let matched = selection.check(tree, self.rules, &filter, reader, diagnostics);
        let view = self.view(selection, filter);
        let archived = self.archived((repository, reader), (treeish, tree), view, Entered::new());
        Ok(ResolvedTree {
            repositories: vec![archived],
            matched,
        })
    }
}
