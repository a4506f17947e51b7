//! The scope of a request: one view of a tree, or two views where only the changes are sent.

use std::{io::Write, os::unix::ffi::OsStrExt, sync::Arc};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
};

use super::{
    delta::{self, Delta},
    purpose::Purpose,
    submodules::{ComparedTree, ResolvedTree, Submodule, Submodules},
    view_builder::ViewBuilder,
};
use crate::{
    base::error::Result,
    git::{
        objects::reader::Reader,
        repository::{
            Repository,
            treeish::{self, Treeish},
        },
        tree::Mount,
    },
    plan::{
        ReadAhead,
        delta::{Bounds, Side},
        select::Selection,
        submodules::PlannedTree,
        view::View,
    },
};

/// The trees of a request that are read ahead at a time, those of submodules included.
const MAX_READ_AHEAD: usize = 8;

/// The part of a tree that is archived.
#[derive(Clone)]
pub enum Scope {
    /// Everything that the view shows.
    Whole(Box<View>),
    /// The changes between two views.
    Delta(Box<Delta>),
}

impl ViewBuilder<'_> {
    /// The scope in `target` of `repository`, and the submodules whose contents or changes are archived. Warnings go to
    /// `diagnostics`.
    pub(super) fn scope(
        &self,
        repository: &Repository,
        reader: &mut Reader,
        target: &Treeish,
        diagnostics: &mut dyn Write,
    ) -> Result<(Scope, Submodules)> {
        let name = self.args.content.treeish.as_deref().unwrap_or_default();
        let name = name.as_bytes().as_bstr();
        let new = self.seen(repository, (name, target), reader, diagnostics)?;
        let Some(base) = &self.args.delta.base else {
            new.matched?;
            return Ok((Scope::Whole(Box::new(new.view)), new.submodules));
        };
        let name = base.as_bytes().as_bstr();
        self.filters.fit_name(name)?;
        let base = treeish::resolve(repository, reader, name, diagnostics)
            .map_err(|error| delta::unavailable(repository, name, error))?;
        // Warnings about rules were given for the target.
        let unheard = &mut std::io::sink();
        let old = self.seen(repository, (name, &base), reader, unheard);
        let old = old.map_err(|error| match self.filters.enters_submodules() {
            true => error.without_base(),
            false => error,
        })?;
        if let Err(error) = new.matched {
            // A pathspec without a match in the target may match in the base.
            old.matched.map_err(|_| error)?;
        }
        let (old, new) = (
            (&base, old.view, old.submodules),
            (target, new.view, new.submodules),
        );
        let (delta, submodules) = self.delta(old, new, reader, diagnostics)?;
        Ok((Scope::Delta(Box::new(delta)), submodules))
    }

    /// The changes from `old` to `new`.
    fn delta(
        &self,
        (base, old, old_submodules): (&Treeish, View, Submodules),
        (target, new, new_submodules): (&Treeish, View, Submodules),
        reader: &mut Reader,
        diagnostics: &mut dyn Write,
    ) -> Result<(Delta, Submodules)> {
        let args = &self.args.delta;
        let other_commit = base.commit != target.commit;
        let rules = self.delta_rules(reader, (base.tree, target.tree), other_commit);
        let sides = [
            (base, &old, &old_submodules),
            (target, &new, &new_submodules),
        ];
        let is_asked = self.purpose == Purpose::Explain;
        let sides = is_asked.then(|| Box::new(sides.map(|side| self.compared(side, reader))));
        let side = |treeish: &Treeish, view, submodules: &Submodules| {
            let id = treeish.commit.unwrap_or(treeish.tree);
            let side = Side::new(treeish.tree, view, self.rules);
            (id, side.entering(Arc::clone(&submodules.entered)))
        };
        let mut new = side(target, new, &new_submodules);
        let limit = delta::limit(args, || {
            let inner: Result<u64> = new_submodules.all.iter().map(Submodule::count).sum();
            Ok(new.1.count(reader)? + inner?)
        })?;
        let bounds = Bounds {
            changes: limit,
            cached_bytes: self.budget.changes(),
            threads: self.args.run.threads.map(usize::from),
        };
        let between = (&old_submodules, &new_submodules);
        let inner = self.submodule_changes(between, bounds, diagnostics)?;
        let old = side(base, old, &old_submodules);
        let delta = Delta::compare(args, old, new, (rules, bounds), reader, diagnostics)?;
        let mut delta = delta.with_inner(inner.counts, inner.deletions, limit)?;
        delta.sides = sides;
        Ok((delta, inner.submodules))
    }

    /// The tree of `treeish` as `view` shows it, with `submodules`.
    fn compared(
        &self,
        (treeish, view, submodules): (&Treeish, &View, &Submodules),
        reader: &Reader,
    ) -> ComparedTree {
        ComparedTree {
            tree: PlannedTree {
                tree: treeish.tree,
                view: view.clone(),
                changes: None,
                rules: self.rules,
                entered: Arc::clone(&submodules.entered),
                reader: reader.clone(),
            },
            submodules: submodules.all.clone(),
        }
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
        if self.filters.enters_submodules() {
            let found = (selection, filter);
            return self.seen_with_submodules(
                repository,
                (name, treeish),
                found,
                reader,
                diagnostics,
            );
        }
        let matched = selection.check(treeish.tree, self.rules, &filter, reader, diagnostics);
        Ok(ResolvedTree {
            view: self.view(selection, filter),
            submodules: Submodules::default(),
            matched,
        })
    }
}
