//! One of two trees that are compared.

use std::{cmp::Ordering, sync::Arc};

use gix_hash::ObjectId;

use super::change::Shown;
use crate::plan::{
    outer::Entered,
    view::{DirectoryVerdict, Sizes, View},
};
use sluice_base::error::Result;
use sluice_git::{
    objects::reader::Reader,
    tree::{Mode, TreeRules, TreeStep, Trees},
};

/// A tree, its view, and the state of the walk.
pub struct Side {
    pub(super) tree: ObjectId,
    pub(super) view: View,
    pub(super) trees: Trees,
    pub(super) path: Vec<u8>,
    /// The walk's last step, at the path.
    pub(super) head: Option<TreeStep>,
    pub(super) rules: TreeRules,
    /// The submodules of whose content something may be shown.
    entered: Arc<Entered>,
}

/// Which side comes next in the order of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Old,
    New,
    Both,
}

/// The part of a view at one path.
#[derive(Clone)]
pub(super) struct PathView {
    /// The entry, if it is shown.
    pub(super) shown: Option<Shown>,
    /// Whether the entry brings the directory that contains it into the view.
    pub(super) in_directory: bool,
}

impl Side {
    /// Create the side of `tree` through `view`. Limits on sizes are decided before anything is decoded.
    pub fn new(tree: ObjectId, view: View, rules: TreeRules) -> Self {
        Self {
            tree,
            view: view.with(Sizes::Limited),
            trees: Trees::new(tree, rules),
            path: Vec::new(),
            head: None,
            rules,
            entered: Arc::default(),
        }
    }

    /// Shows the submodules in `entered` even if no pathspec selects them as a whole.
    pub fn entering(self, entered: Arc<Entered>) -> Self {
        Self { entered, ..self }
    }

    /// A copy for another thread. The copy's walk has not begun.
    pub(super) fn another(&self) -> Self {
        Self {
            tree: self.tree,
            view: self.view.clone(),
            trees: Trees::new(self.tree, self.rules),
            path: Vec::new(),
            head: None,
            rules: self.rules,
            entered: Arc::clone(&self.entered),
        }
    }

    /// Split off the entries from `cut` on in the directory of this `number`, counted from the root, and the
    /// remaining entries of the directories above. This side is `levels` deeper.
    pub(super) fn fork(&mut self, number: usize, cut: usize, levels: usize) -> Self {
        let mut other = self.another();
        (0..levels).for_each(|_| other.view.leave());
        let path_len;
        (other.trees, path_len) = self.trees.fork(number, cut);
        other.path.extend_from_slice(&self.path[..path_len]);
        other
    }

    pub(super) fn begin(&mut self, reader: &mut Reader) -> Result<()> {
        self.trees = Trees::new(self.tree, self.rules);
        self.path.clear();
        self.enter(reader, self.tree)
    }

    pub(super) fn advance(&mut self, reader: &mut Reader) -> Result<()> {
        self.head = self.trees.next(reader, &mut self.path)?;
        Ok(())
    }

    /// Enter the directory `id` at the current path.
    pub(super) fn enter(&mut self, reader: &mut Reader, id: ObjectId) -> Result<()> {
        self.trees.enter(reader, id, &self.path)?;
        self.begin_directory(reader)
    }

    /// Read the rules and the first entry of the directory that `trees` entered last.
    pub(super) fn begin_directory(&mut self, reader: &mut Reader) -> Result<()> {
        self.view
            .enter(reader, &self.trees, self.tree, &self.path)?;
        self.advance(reader)
    }

    /// The number of shown entries, directories not counted.
    pub fn count(&mut self, reader: &mut Reader) -> Result<u64> {
        let mut count = 0;
        self.each(reader, &mut |_, _| count += 1)?;
        Ok(count)
    }

    /// Pass every shown file, link and submodule to `taker`.
    pub(super) fn each(
        &mut self,
        reader: &mut Reader,
        taker: &mut dyn FnMut(&[u8], &Shown),
    ) -> Result<()> {
        self.begin(reader)?;
        while let Some(found) = self.head {
            match found {
                TreeStep::End => {
                    self.view.leave();
                    self.advance(reader)?;
                }
                TreeStep::Directory(id) => match self.view.directory(&self.path) {
                    DirectoryVerdict::Entered => self.enter(reader, id)?,
                    DirectoryVerdict::Omitted(_) | DirectoryVerdict::Hidden => {
                        self.advance(reader)?
                    }
                },
                TreeStep::Leaf { mode, id } => {
                    let path = std::mem::take(&mut self.path);
                    if let Some(shown) = self.show(reader, &path, mode, id)?.shown {
                        taker(&path, &shown);
                    }
                    self.path = path;
                    self.advance(reader)?;
                }
            }
        }
        Ok(())
    }

    /// The visibility of a file, link or submodule.
    pub(super) fn show(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        mode: Mode,
        id: ObjectId,
    ) -> Result<PathView> {
        let is_entered = mode == Mode::Submodule && self.entered.contains_key(path);
        if !is_entered && !self.view.admits(path, mode)? {
            return Ok(PathView {
                shown: None,
                in_directory: false,
            });
        }
        let leaf = self.view.leaf(reader, path, (mode, is_entered), id);
        Ok(PathView {
            in_directory: self.view.brings_directories(leaf.as_ref()),
            shown: leaf
                .filter(|leaf| !leaf.is_omitted())
                .map(|leaf| Shown { mode, id, leaf }),
        })
    }

    /// Whether the view shows anything in the directory entered last, which is `id` at `path`.
    pub(super) fn shows_any(
        &mut self,
        reader: &mut Reader,
        path: &[u8],
        id: ObjectId,
    ) -> Result<bool> {
        let mut trees = Trees::new(self.tree, self.rules);
        let mut at = path.to_vec();
        trees.enter(reader, id, &at)?;
        let mut below = 0;
        let shows = loop {
            match trees.next(reader, &mut at)? {
                Some(TreeStep::Directory(id)) => {
                    if matches!(self.view.directory(&at), DirectoryVerdict::Entered) {
                        trees.enter(reader, id, &at)?;
                        self.view.enter(reader, &trees, self.tree, &at)?;
                        below += 1;
                    }
                }
                Some(TreeStep::Leaf { mode, id }) => {
                    if self.show(reader, &at, mode, id)?.in_directory {
                        break true;
                    }
                }
                Some(TreeStep::End) if below > 0 => {
                    self.view.leave();
                    below -= 1;
                }
                Some(TreeStep::End) | None => break false,
            }
        };
        for _ in 0..below {
            self.view.leave();
        }
        Ok(shows)
    }
}

/// The side whose current path comes first.
pub(super) fn order(old: &Side, new: &Side) -> Order {
    let (Some(old_head), Some(new_head)) = (old.head, new.head) else {
        return match (old.head, new.head) {
            (Some(_), None) => Order::Old,
            (None, Some(_)) => Order::New,
            _ => Order::Both,
        };
    };
    match compare((old_head, &old.path), (new_head, &new.path)) {
        Ordering::Less => Order::Old,
        Ordering::Greater => Order::New,
        Ordering::Equal => Order::Both,
    }
}

/// Compare in the order of trees: a directory as if its name ended in a slash, and its end after its entries.
fn compare(one: (TreeStep, &[u8]), other: (TreeStep, &[u8])) -> Ordering {
    let is_in = |path: &[u8], directory: &[u8]| {
        directory.is_empty()
            || path.starts_with(directory) && path.get(directory.len()) == Some(&b'/')
    };
    match (one.0, other.0) {
        (TreeStep::End, TreeStep::End) if one.1 == other.1 => return Ordering::Equal,
        (TreeStep::End, _) if is_in(other.1, one.1) => return Ordering::Greater,
        (_, TreeStep::End) if is_in(one.1, other.1) => return Ordering::Less,
        // At the same path, the end of one side's directory comes before the other side's unentered entry.
        (TreeStep::End, _) if one.1 == other.1 => return Ordering::Less,
        (_, TreeStep::End) if one.1 == other.1 => return Ordering::Greater,
        _ => {}
    }
    let last = |found: TreeStep| match found {
        TreeStep::Leaf { .. } => 0,
        TreeStep::Directory(_) | TreeStep::End => b'/',
    };
    let len = one.1.len().min(other.1.len());
    let rest = |(found, path): (TreeStep, &[u8])| path.get(len).copied().unwrap_or(last(found));
    let common = one.1[..len].cmp(&other.1[..len]);
    common
        .then_with(|| rest(one).cmp(&rest(other)))
        .then_with(|| one.1.len().cmp(&other.1.len()))
}
