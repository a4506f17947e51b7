//! Finds the commit to compare with: the one that the archive names, or the nearest tag.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    io,
    ops::AddAssign,
};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::{prefix, table::Table};
use sluice_base::error::{Error, Result};
use sluice_git::{
    objects::reader::Reader,
    refs::AskGit,
    repository::{
        Repository,
        tags::{self, TAGS},
        treeish,
    },
    tree::{Mode, TreeRules, TreeStep, Trees, directory_at},
};

/// The bytes of a known directory in addition to its path, about.
const ENTRY: usize = 128;
/// The limit of the trees between a root and a file, in bytes.
const TREES: usize = 8 << 20;

/// The commit that an archive names as `revision`: an id, the beginning of one, or a tag. Fails if `repository` lacks it.
pub(super) fn named(repository: &Repository, revision: &str) -> Result<ObjectId> {
    let lacking = || {
        Error::not_there(format!("the repository lacks commit {revision}"))
            .hinted(format!("git fetch origin {revision}"))
    };
    let mut reader = Reader::new(repository.odb());
    match ObjectId::from_hex(revision.as_bytes()) {
        Ok(commit) => match reader.kind(&commit) {
            Ok(None) => Err(lacking()),
            _ => Ok(commit),
        },
        Err(_) => {
            let found = treeish::resolve(repository, &mut reader, revision.into(), &mut io::sink());
            found.ok().and_then(|it| it.commit).ok_or_else(lacking)
        }
    }
}

/// The error of tags that cannot be read.
pub(super) fn unreadable(_: AskGit) -> Error {
    Error::fatal("cannot read the tags of the repository")
}

/// A tag, and how many files an archive shares with it, as far as ids tell.
pub(super) struct Candidate {
    /// The name without `refs/tags/`.
    pub(super) name: BString,
    pub(super) rank: Rank,
}

/// How near a tag is: the number of equal files, of changed ones and of missing ones, and the time. A nearer tag is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) equal: u64,
    pub(super) changed: Reverse<u64>,
    pub(super) missing: Reverse<u64>,
    pub(super) time: u64,
}

impl Rank {
    /// Whether only the time tells the tags apart.
    pub(super) fn ties(&self, other: &Self) -> bool {
        Self { time: 0, ..*self } == Self { time: 0, ..*other }
    }
}

/// The tags of `repository` that have the directory `below`, the nearest first. The archive has the prefix `prefix`, if it is known.
pub(super) fn candidates(
    repository: &Repository,
    table: &mut Table,
    below: &[u8],
    prefix: Option<&[u8]>,
) -> Result<Vec<Candidate>> {
    let rules = TreeRules {
        hash: repository.hash(),
        protect: None,
        max_depth: repository.settings.max_tree_depth,
        max_held: TREES,
        redacted: false,
    };
    let tags = tags::refs(repository, TAGS).map_err(unreadable)?;
    let mut reader = Reader::new(repository.odb());
    let (mut trees, mut names) = (Vec::new(), HashSet::new());
    for tag in tags {
        // A tag may name something that has no tree.
        let found = treeish::resolve(repository, &mut reader, tag.name.as_bstr(), &mut io::sink());
        let Ok(found) = found else { continue };
        let tree = directory_at(&mut reader, found.tree, repository.hash(), below);
        if let Ok(Some(tree)) = tree {
            names.extend(prefix::root_names(&mut reader, tree, rules)?);
            trees.push((tag.name, tree, found.commit_time()));
        }
    }
    let prefix = prefix.map_or_else(|| prefix::find(table, &names), <[u8]>::to_vec);
    let mut search = Search {
        prefix,
        table,
        rules,
        known: HashMap::new(),
    };
    let mut candidates = Vec::new();
    for (name, tree, time) in trees {
        let sum = search.walk(&mut reader, tree)?;
        let rank = Rank {
            equal: sum.equal,
            changed: Reverse(sum.found - sum.equal),
            missing: Reverse(sum.leaves - sum.found),
            time: time.unwrap_or(0),
        };
        let name = name[TAGS.len()..].into();
        candidates.push(Candidate { name, rank });
    }
    if candidates.is_empty() {
        return Err(Error::fatal("the repository has no tag to compare with"));
    }
    // Of tags with the same time, the later name counts as the newer one.
    candidates.reverse();
    candidates.sort_by_key(|it| Reverse(it.rank));
    Ok(candidates)
}

/// Compares trees with an archive. A directory that several trees share is read once.
struct Search<'a> {
    prefix: Vec<u8>,
    table: &'a mut Table,
    rules: TreeRules,
    known: HashMap<(ObjectId, Vec<u8>), Sum>,
}

/// The files of a directory, those whose paths the archive has, and those that it has with the same content.
#[derive(Clone, Copy, Default)]
struct Sum {
    leaves: u64,
    found: u64,
    equal: u64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.leaves += other.leaves;
        self.found += other.found;
        self.equal += other.equal;
    }
}

impl Search<'_> {
    fn walk(&mut self, reader: &mut Reader, root: ObjectId) -> Result<Sum> {
        let (mut trees, mut path) = (Trees::new(root, self.rules), Vec::new());
        trees.enter(reader, root, &path)?;
        let mut open = vec![((root, Vec::new()), Sum::default())];
        while let Some(step) = trees.next(reader, &mut path)? {
            let mut sum = Sum::default();
            match step {
                TreeStep::Directory(id) => match self.known.get(&(id, path.clone())) {
                    Some(known) => sum = *known,
                    None => {
                        trees.enter(reader, id, &path)?;
                        open.push(((id, path.clone()), sum));
                    }
                },
                TreeStep::Leaf { mode, id } if mode != Mode::Submodule => {
                    let number = self.table.find(&[&self.prefix[..], &path].concat());
                    sum.leaves = 1;
                    if let Some(number) = number {
                        sum.found = 1;
                        sum.equal = u64::from(self.table.has_id(number, id));
                    }
                }
                TreeStep::Leaf { .. } => {}
                TreeStep::End => {
                    let Some((place, whole)) = open.pop() else {
                        break;
                    };
                    if self.table.charge(place.1.len() + ENTRY).is_ok() {
                        self.known.insert(place, whole);
                    }
                    if open.is_empty() {
                        return Ok(whole);
                    }
                    sum = whole;
                }
            }
            if let Some((_, above)) = open.last_mut() {
                *above += sum;
            }
        }
        Ok(Sum::default())
    }
}
