//! The changes in submodules since a base: the two commits of each are compared, or one with nothing.

use std::{collections::BTreeSet, io::Write, sync::Arc};

use gix::ObjectId;

use super::{Submodule, Submodules};
use crate::{
    base::error::Result,
    git::{objects::reader::Reader, odb::Odb},
    output::report::ChangeCounts,
    plan::{
        StoreId,
        delta::{Bounds, Deletions, Side},
        walk::Entered,
    },
    request::{Delta, view_builder::ViewBuilder},
};

/// The changes in all submodules.
#[derive(Default)]
pub(in crate::request) struct SubmoduleChanges {
    /// The submodules of the target whose commit is another one.
    pub(in crate::request) submodules: Submodules,
    /// The number of changes.
    pub(in crate::request) counts: ChangeCounts,
    /// What is gone, submodule by submodule: the innermost ones first.
    pub(in crate::request) deletions: Vec<Arc<Deletions>>,
}

/// Compares submodules.
struct Comparer<'a> {
    viewing: &'a ViewBuilder<'a>,
    old: &'a [Submodule],
    new: &'a [Submodule],
    bounds: Bounds,
    found: SubmoduleChanges,
    diagnostics: &'a mut dyn Write,
}

impl ViewBuilder<'_> {
    /// The changes from the `old` submodules to the `new` ones.
    pub(in crate::request) fn submodule_changes(
        &self,
        (old, new): (&Submodules, &Submodules),
        bounds: Bounds,
        diagnostics: &mut dyn Write,
    ) -> Result<SubmoduleChanges> {
        let mut comparer = Comparer {
            viewing: self,
            old: &old.all,
            new: &new.all,
            bounds,
            found: SubmoduleChanges::default(),
            diagnostics,
        };
        let entered = comparer.level(&old.entered, &new.entered)?;
        let mut found = comparer.found;
        found.submodules.entered = Arc::new(entered);
        found.submodules.of_target = new.all.clone();
        Ok(found)
    }
}

impl Comparer<'_> {
    /// Compares the submodules of one tree, and theirs. Returns those of the new tree with changes.
    fn level(&mut self, old: &Entered, new: &Entered) -> Result<Entered> {
        let mut changed = Entered::new();
        let paths: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for path in paths {
            let of = |entered: &Entered, all: &[Submodule]| {
                let store = entered.get(path)?;
                Some(all[store.0 - 1].clone())
            };
            let (was, mut is) = (of(old, self.old), of(new, self.new));
            let commit = |submodule: &Option<Submodule>| submodule.as_ref()?.treeish.commit;
            if commit(&was) == commit(&is) {
                continue;
            }
            if let (Some(was), Some(is)) = (&was, &mut is) {
                // The archive may repeat the comparison.
                is.tree.reader = reader(was, is);
            }
            let none = Arc::default();
            let entered = |submodule: &Option<Submodule>| {
                let entered = submodule.as_ref().map(|it| &it.tree.entered);
                Arc::clone(entered.unwrap_or(&none))
            };
            let inner = self.level(&entered(&was), &entered(&is))?;
            let delta = self.compare(was.as_ref(), is.as_ref())?;
            self.found.counts += delta.counts;
            self.found.deletions.push(Arc::clone(&delta.deletions));
            if let Some(mut submodule) = is {
                submodule.tree.entered = Arc::new(inner);
                submodule.tree.changes = Some(Box::new(delta.changes));
                let all = &mut self.found.submodules.all;
                all.push(submodule);
                changed.insert(path.clone(), StoreId(all.len()));
            }
        }
        Ok(changed)
    }

    /// The changes from the content of `was` to that of `is`, of which there is at least one.
    fn compare(&mut self, was: Option<&Submodule>, is: Option<&Submodule>) -> Result<Delta> {
        let viewing = self.viewing;
        let (old, new) = (was.or(is), is.or(was));
        let (Some(old), Some(new)) = (old, new) else {
            unreachable!("a submodule is on one side at least");
        };
        let side = |submodule: &Submodule, is_there: bool| {
            let tree = &submodule.tree;
            let id = match is_there {
                true => tree.tree,
                false => ObjectId::empty_tree(tree.tree.kind()),
            };
            let side = Side::new(id, tree.view.clone(), tree.rules);
            (id, side.entering(Arc::clone(&tree.entered)))
        };
        let mut reader = new.tree.reader.clone();
        let (old_tree, new_tree) = (&old.tree.tree, &new.tree.tree);
        let rules = viewing.delta_rules(
            &mut reader,
            (*old_tree, *new_tree),
            old.treeish.commit != new.treeish.commit,
        );
        Delta::compare(
            &viewing.args.delta,
            side(old, was.is_some()),
            side(new, is.is_some()),
            (rules, self.bounds),
            &mut reader,
            self.diagnostics,
        )
    }
}

/// Reads the objects of both submodules: `.gitmodules` may call them by different names.
fn reader(old: &Submodule, new: &Submodule) -> Reader {
    let mut config = new.tree.reader.odb.config().clone();
    let others = &old.tree.reader.odb.config().dirs;
    let unknown: Vec<_> = others
        .iter()
        .filter(|dir| !config.dirs.contains(dir))
        .cloned()
        .collect();
    if unknown.is_empty() {
        return new.tree.reader.clone();
    }
    config.dirs.extend(unknown);
    new.tree.reader.with_odb(Odb::open(config))
}
