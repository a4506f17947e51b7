//! The changes in submodules since a base: the two commits of each are compared, or one with nothing.

use std::{collections::BTreeSet, io::Write, sync::Arc};

use gix_hash::ObjectId;

use crate::{
    output::report::ChangeCounts,
    plan::{
        StoreId,
        delta::{Bounds, Deletions},
        outer::Entered,
    },
    request::{archived::ArchivedRepository, delta::RepositoryChanges, view_builder::ViewBuilder},
};
use sluice_base::error::Result;
use sluice_git::{objects::reader::Reader, odb::Odb};

/// The changes in all submodules.
#[derive(Default)]
pub(in crate::request) struct SubmoduleChanges {
    /// The submodules in the archived tree that have changes, and theirs.
    pub(in crate::request) entered: Entered,
    /// The submodules of the target whose commit is another one: element `n` is store `n + 1`.
    pub(in crate::request) submodules: Vec<ArchivedRepository>,
    /// The number of changes.
    pub(in crate::request) counts: ChangeCounts,
    /// The deletions, submodule by submodule: the innermost ones first.
    pub(in crate::request) deletions: Vec<Arc<Deletions>>,
}

/// Compares submodules.
struct Comparer<'a> {
    viewing: &'a ViewBuilder<'a>,
    old: &'a [ArchivedRepository],
    new: &'a [ArchivedRepository],
    bounds: Bounds,
    found: SubmoduleChanges,
    diagnostics: &'a mut dyn Write,
}

impl ViewBuilder<'_> {
    /// The changes in submodules from the `old` repositories to the `new` ones.
    pub(in crate::request) fn submodule_changes(
        &self,
        [old, new]: [&[ArchivedRepository]; 2],
        bounds: Bounds,
        diagnostics: &mut dyn Write,
    ) -> Result<SubmoduleChanges> {
        let mut comparer = Comparer {
            viewing: self,
            old,
            new,
            bounds,
            found: SubmoduleChanges::default(),
            diagnostics,
        };
        let entered = comparer.level(&old[0].tree.entered, &new[0].tree.entered)?;
        Ok(SubmoduleChanges {
            entered,
            ..comparer.found
        })
    }

    /// The changes from the content of `was` to that of `is`, of which there is at least one. The later one reads the objects of
    /// both.
    pub(in crate::request) fn compare(
        &self,
        (was, is): (Option<&ArchivedRepository>, Option<&ArchivedRepository>),
        bounds: Bounds,
        diagnostics: &mut dyn Write,
    ) -> Result<RepositoryChanges> {
        let (Some(old), Some(new)) = (was.or(is), is.or(was)) else {
            unreachable!("a repository is on one side at least");
        };
        let mut reader = new.tree.reader.clone();
        let trees = (old.tree.tree, new.tree.tree);
        let other_commit = old.treeish.commit != new.treeish.commit;
        let mut rules = self.delta_rules(&mut reader, trees, other_commit);
        rules.other_rules |= copies_differ(old, new);
        let side = |repository: &ArchivedRepository, exists: bool| {
            let tree = &repository.tree;
            tree.side(if exists {
                tree.tree
            } else {
                ObjectId::empty_tree(tree.tree.kind())
            })
        };
        let sides = [side(old, was.is_some()), side(new, is.is_some())];
        RepositoryChanges::new(sides, (rules, bounds), reader, diagnostics)
    }
}

impl Comparer<'_> {
    /// Compares the submodules of one tree, and theirs. Returns those of the new tree with changes.
    fn level(&mut self, old: &Entered, new: &Entered) -> Result<Entered> {
        let mut changed = Entered::new();
        let paths: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for path in paths {
            let of = |entered: &Entered, all: &[ArchivedRepository]| {
                let store = entered.get(path)?;
                Some(all[store.0].clone())
            };
            let (was, mut is) = (of(old, self.old), of(new, self.new));
            let commit =
                |submodule: &Option<ArchivedRepository>| submodule.as_ref()?.treeish.commit;
            if commit(&was) == commit(&is) {
                continue;
            }
            if let (Some(was), Some(is)) = (&was, &mut is) {
                // The archive may repeat the comparison.
                is.tree.reader = reader(was, is);
            }
            let none = Arc::default();
            let entered = |submodule: &Option<ArchivedRepository>| {
                let entered = submodule.as_ref().map(|it| &it.tree.entered);
                Arc::clone(entered.unwrap_or(&none))
            };
            let inner = self.level(&entered(&was), &entered(&is))?;
            let sides = (was.as_ref(), is.as_ref());
            let changes = self.viewing.compare(sides, self.bounds, self.diagnostics)?;
            self.found.counts += changes.counts;
            self.found.deletions.push(changes.deletions);
            if let Some(mut submodule) = is {
                submodule.tree.entered = Arc::new(inner);
                submodule.tree.changes = Some(Box::new(changes.changes));
                let all = &mut self.found.submodules;
                all.push(submodule);
                changed.insert(path.clone(), StoreId(all.len()));
            }
        }
        Ok(changed)
    }
}

/// Reads the objects of both submodules: `.gitmodules` may call them by different names.
fn reader(old: &ArchivedRepository, new: &ArchivedRepository) -> Reader {
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

/// Whether a copy that is the same in both trees may be archived in another way.
fn copies_differ(old: &ArchivedRepository, new: &ArchivedRepository) -> bool {
    let copied = |repository: &'_ ArchivedRepository| {
        let copied = repository.tree.view.selection.copied.as_ref();
        copied.map(|copied| Arc::clone(&copied.copies))
    };
    match (copied(old), copied(new)) {
        (Some(old), Some(new)) => old.differ(&new),
        _ => false,
    }
}
