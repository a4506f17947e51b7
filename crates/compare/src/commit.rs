//! Finds the commit to compare with: the one that the archive names, or the nearest tag.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    io,
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
    let lacking =
        |hint| Error::not_there(format!("the repository lacks commit {revision}")).hinted(hint);
    let mut reader = Reader::new(repository.odb());
    match ObjectId::from_hex(revision.as_bytes()) {
        Ok(commit) => match reader.kind(&commit) {
            Ok(None) => Err(lacking(format!("git fetch origin {revision}"))),
            _ => Ok(commit),
        },
        // No server knows the beginning of an id.
        Err(_) => {
            let found = treeish::resolve(repository, &mut reader, revision.into(), &mut io::sink());
            let commit = found.ok().and_then(|it| it.commit);
            commit.ok_or_else(|| lacking("git fetch --all --tags".to_owned()))
        }
    }
}

/// The error of tags that cannot be read.
pub(super) fn unreadable(_: AskGit) -> Error {
    Error::fatal("cannot read the tags of the repository")
}

/// A tag, and how many files an archive shares with it, as far as ids tell. A nearer tag is greater, and of tags with the same time
/// the later name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) rank: Rank,
    /// The name without `refs/tags/`.
    pub(super) name: BString,
}

/// How near a tag is: the number of equal files, of changed ones and of missing ones, and the time. A nearer tag is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    files: (u64, Reverse<u64>, Reverse<u64>),
    pub(super) time: u64,
}

impl Rank {
    pub(super) fn new([equal, changed, missing]: [u64; 3], time: u64) -> Self {
        Self {
            files: (equal, Reverse(changed), Reverse(missing)),
            time,
        }
    }

    /// Whether only the time tells the tags apart.
    pub(super) fn ties(&self, other: &Self) -> bool {
        self.files == other.files
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
        let files = search.walk(&mut reader, tree)?;
        candidates.push(Candidate {
            rank: Rank::new(files, time.unwrap_or(0)),
            name: name[TAGS.len()..].into(),
        });
    }
    if candidates.is_empty() {
        return Err(Error::fatal("the repository has no tag to compare with"));
    }
    candidates.sort();
    candidates.reverse();
    Ok(candidates)
}

/// Compares trees with an archive. A directory that several trees share is read once.
struct Search<'a> {
    prefix: Vec<u8>,
    table: &'a mut Table,
    rules: TreeRules,
    known: HashMap<(ObjectId, Vec<u8>), Sum>,
}

/// The numbers of equal, changed and missing files of a directory.
type Sum = [u64; 3];

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
                    let place = match self.table.find(&[&self.prefix[..], &path].concat()) {
                        Some(number) if self.table.has_id(number, id) => 0,
                        Some(_) => 1,
                        None => 2,
                    };
                    sum[place] = 1;
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
                for (above, number) in above.iter_mut().zip(sum) {
                    *above += number;
                }
            }
        }
        Ok(Sum::default())
    }
}
