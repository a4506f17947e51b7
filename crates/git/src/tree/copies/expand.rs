//! Makes the tree with copies: from the leaves to the root, with links in a copied directory resolved where they are stored.
//!
//! A directory has the same copies wherever it is copied to, unless a link below leads back to a directory above, so it is expanded
//! once: thirty levels of two links each are thirty trees. Their entries are counted, and too many are refused.

use std::{
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::{
    origins::{Copies, CopyRules, KeptLink, push},
    resolve::{Resolver, Target},
};
use crate::{
    attributes,
    objects::reader::Reader,
    tree::entry::{Mode, TreeEntry},
};
use sluice_base::error::{Error, Result, format_bytes};

/// Copies may add as many entries, whatever the tree has.
const ENOUGH: u64 = 1 << 20;
/// Or as many for each entry of the tree.
const ENOUGH_EACH: u64 = 16;
/// Without links that lead back, a directory is expanded once, so that as many mean that they multiply.
const MAX_REPEATED: u64 = 1 << 16;
/// Deeper directories are refused, whatever the configuration says: each level takes room on the stack.
const MAX_DEPTH: usize = 4096;

/// A directory with its copies.
#[derive(Clone)]
struct Expanded {
    id: ObjectId,
    /// The entries below, without copies and with them.
    plain: u64,
    all: u64,
    has_submodule: bool,
    /// The directories that links below lead to.
    targets: Rc<BTreeSet<BString>>,
    /// The number, from the root, of the directory above that a link below leads back to: the uppermost one that decides.
    circle: usize,
}

/// What takes the place of an entry.
struct Replacement {
    mode: Mode,
    id: ObjectId,
}

/// Expands the directories of one tree.
pub(super) struct Expander<'a> {
    resolver: Resolver<'a>,
    root: ObjectId,
    rules: &'a CopyRules<'a>,
    copies: Copies,
    /// The stored directories that contain the current place, from the root.
    above: Vec<BString>,
    /// How many copies the current place is in.
    copied: usize,
    done: HashMap<BString, Expanded>,
    /// The link that adds most entries.
    largest: (u64, BString),
    /// Entries of the stored trees.
    stored: u64,
    /// How often a directory was expanded within a copy.
    repeated: u64,
}

impl<'a> Expander<'a> {
    pub(super) fn new(reader: &'a mut Reader, root: ObjectId, rules: &'a CopyRules<'a>) -> Self {
        Self {
            resolver: Resolver::new(reader, root),
            root,
            rules,
            copies: Copies::default(),
            above: Vec::new(),
            copied: 0,
            done: HashMap::new(),
            largest: (0, BString::default()),
            stored: 0,
            repeated: 0,
        }
    }

    pub(super) fn run(mut self) -> Result<(ObjectId, Copies)> {
        let expanded = self.expand(BString::default(), self.root)?;
        let enough = ENOUGH.max(expanded.plain.saturating_mul(ENOUGH_EACH));
        if expanded.all.saturating_sub(expanded.plain) > enough {
            return Err(self.too_many(enough));
        }
        Ok((expanded.id, self.copies))
    }

    fn too_many(&self, enough: u64) -> Error {
        let (added, link) = &self.largest;
        let refused = format!("copies of links would add more than {enough} entries");
        let added = added.to_string();
        let hint = "'{}' alone adds {}; --symlinks=link sends links";
        Error::fatal(refused).hinted(format_bytes(hint, &[link, added.as_bytes()]))
    }

    /// The directory `path` whose tree is `id`, with copies.
    fn expand(&mut self, path: BString, id: ObjectId) -> Result<Expanded> {
        if let Some(done) = self.done.get(&path)
            && !done
                .targets
                .iter()
                .any(|target| self.leads_back(target).is_some())
        {
            return Ok(done.clone());
        }
        let number = self.above.len();
        if number >= MAX_DEPTH.min(self.rules.max_depth) {
            return Err(Error::fatal("exceeded maximum allowed tree depth"));
        }
        self.repeated += u64::from(self.copied > 0);
        if self.repeated > MAX_REPEATED.max(self.stored) {
            return Err(self.too_many(ENOUGH));
        }
        self.above.push(path.clone());
        let expanded = self.entries(&path, id);
        self.above.pop();
        let expanded = expanded?;
        if expanded.circle >= number && expanded.id != id {
            self.done.insert(path, expanded.clone());
        }
        Ok(expanded)
    }

    /// Expands the entries of the directory `path`.
    fn entries(&mut self, path: &BString, id: ObjectId) -> Result<Expanded> {
        let mut expanded = Expanded {
            id,
            plain: 0,
            all: 0,
            has_submodule: false,
            targets: Rc::default(),
            circle: usize::MAX,
        };
        let Some(tree) = self.resolver.tree(id, path) else {
            return Ok(expanded);
        };
        let mut targets = BTreeSet::new();
        let mut replaced = Vec::new();
        let mut at = 0;
        while at < tree.len() {
            // A malformed tree stays as it is, for the walk to report.
            let Ok(entry) = TreeEntry::parse(&tree[at..], id.kind()) else {
                return Ok(Expanded { id, ..expanded });
            };
            let entry_id = ObjectId::from_bytes_or_panic(entry.id);
            let mut place = path.clone();
            push(&mut place, entry.name);
            expanded.plain += 1;
            self.stored += u64::from(self.copied == 0);
            expanded.all += 1;
            match entry.mode {
                Mode::Directory => {
                    let inner = self.expand(place, entry_id)?;
                    expanded.add(&inner, &mut targets);
                    expanded.plain += inner.plain;
                    if inner.id != entry_id {
                        let (mode, id) = (Mode::Directory, inner.id);
                        replaced.push((at, Replacement { mode, id }));
                    }
                }
                Mode::Symlink => {
                    let copy = self.copy(place, entry_id, &mut expanded, &mut targets)?;
                    replaced.extend(copy.map(|copy| (at, copy)));
                }
                Mode::Submodule => expanded.has_submodule = true,
                Mode::File | Mode::Executable => {
                    if entry.name == attributes::NAME {
                        self.copies.attributes.insert(path.clone(), entry_id);
                    }
                }
            }
            at += entry.len;
        }
        if !replaced.is_empty() {
            expanded.id = self.make(&tree, id, &replaced)?;
        }
        expanded.targets = Rc::new(targets);
        Ok(expanded)
    }

    /// What takes the place of the link `id` at `link`, if anything does. Counts it in `around`, the directory of the link.
    fn copy(
        &mut self,
        link: BString,
        id: ObjectId,
        around: &mut Expanded,
        targets: &mut BTreeSet<BString>,
    ) -> Result<Option<Replacement>> {
        let directory = link
            .rfind_byte(b'/')
            .map_or(&b""[..], |slash| &link[..slash]);
        let (path, id) = match self.resolver.resolve(directory, id)? {
            Target::File { path, mode, id } => {
                if !(self.rules.may_copy)(&path, false) {
                    return Ok(None);
                }
                self.copies.targets.insert(link, path);
                return Ok(Some(Replacement { mode, id }));
            }
            Target::Directory { path, id } => (path, id),
            Target::None(kept) => {
                self.copies.kept.insert(link, kept);
                return Ok(None);
            }
        };
        if let Some(number) = self.leads_back(&path) {
            around.circle = around.circle.min(number);
            self.copies.kept.insert(link, KeptLink::Circle);
            return Ok(None);
        }
        if !(self.rules.may_copy)(&path, true) {
            return Ok(None);
        }
        self.copied += 1;
        let inner = self.expand(path.clone(), id);
        self.copied -= 1;
        let inner = inner?;
        if inner.circle >= self.above.len() {
            self.done.insert(path.clone(), inner.clone());
        }
        if inner.has_submodule && self.rules.enters_submodules {
            self.copies.kept.insert(link, KeptLink::Submodule);
            return Ok(None);
        }
        around.add(&inner, targets);
        targets.insert(path.clone());
        if inner.all >= self.largest.0 {
            self.largest = (inner.all, link.clone());
        }
        self.copies.targets.insert(link, path);
        Ok(Some(Replacement {
            mode: Mode::Directory,
            id: inner.id,
        }))
    }

    /// The number of the lowest directory above the current place that `target` is, or contains.
    fn leads_back(&self, target: &BString) -> Option<usize> {
        let contains = |path: &BString| {
            let rest = path.strip_prefix(&target[..]);
            target.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        self.above.iter().rposition(contains)
    }

    /// Makes a tree like `tree`, with other entries at the offsets in `replaced`.
    fn make(
        &mut self,
        tree: &[u8],
        id: ObjectId,
        replaced: &[(usize, Replacement)],
    ) -> Result<ObjectId> {
        let mut entries: Vec<(bool, &[u8], Vec<u8>)> = Vec::new();
        let mut moved = Vec::new();
        let mut replaced = replaced.iter().peekable();
        let mut at = 0;
        while let Ok(entry) = TreeEntry::parse(&tree[at..], id.kind()) {
            let replacement = replaced.next_if(|(offset, _)| *offset == at);
            match replacement {
                None => {
                    let is_directory = entry.mode == Mode::Directory;
                    entries.push((is_directory, entry.name, tree[at..at + entry.len].to_vec()));
                }
                Some((_, Replacement { mode, id })) => {
                    let line = [
                        format!("{:o} ", mode.bits()).as_bytes(),
                        entry.name,
                        b"\0",
                        id.as_slice(),
                    ]
                    .concat();
                    let is_directory = *mode == Mode::Directory;
                    let place = if entry.mode == Mode::Directory || !is_directory {
                        &mut entries
                    } else {
                        // Directories have another place in git's order.
                        &mut moved
                    };
                    place.push((is_directory, entry.name, line));
                }
            }
            at += entry.len;
            if at == tree.len() {
                break;
            }
        }
        let key = |(is_directory, name, _): &(bool, &[u8], Vec<u8>)| {
            let slash: &[u8] = if *is_directory { b"/" } else { b"" };
            [name, slash].concat()
        };
        for entry in moved {
            let own = key(&entry);
            let place = entries.partition_point(|other| key(other) < own);
            entries.insert(place, entry);
        }
        let content: Vec<u8> = entries.into_iter().flat_map(|entry| entry.2).collect();
        let made = self.rules.made.add(&content, id.kind());
        made.ok_or_else(|| Error::fatal("cannot compute the id of a tree"))
    }
}

impl Expanded {
    /// Adds what is below the directory `inner`.
    fn add(&mut self, inner: &Self, targets: &mut BTreeSet<BString>) {
        self.all = self.all.saturating_add(inner.all);
        self.has_submodule |= inner.has_submodule;
        self.circle = self.circle.min(inner.circle);
        targets.extend(inner.targets.iter().cloned());
    }
}
