//! Finds the commit to compare with: the one that the archive names, or the tag that differs least.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    io,
    ops::AddAssign,
};

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::{prefix, table::Table};
use sluice_base::error::{Error, Result};
use sluice_format::unarchive::Kind;
use sluice_git::{
    objects::reader::Reader,
    program,
    repository::{Repository, treeish},
    tree::{Mode, TreeRules, TreeStep, Trees},
};

/// The refs that are named of those that lead to a commit.
const REFS_MAX: usize = 5;
/// The bytes of a known directory in addition to its path, about.
const ENTRY: usize = 128;
/// The limit of the trees between a root and a file, in bytes.
const TREES: usize = 8 << 20;
const TAGS: &str = "refs/tags/";

/// The commit that the `comment` of an archive names. Fails if the archive names none, or if `repository` lacks it.
pub(super) fn named(repository: &Repository, comment: Option<ObjectId>) -> Result<ObjectId> {
    let Some(commit) = comment else {
        let unknown = Error::fatal("the archive does not say which commit it has");
        return Err(unknown.hinted("name a commit, or look for the nearest tag with --search"));
    };
    match Reader::new(repository.odb()).kind(&commit) {
        Ok(None) => Err(
            Error::not_there(format!("the repository lacks commit {commit}"))
                .hinted(format!("git fetch origin {commit}")),
        ),
        _ => Ok(commit),
    }
}

/// The tags and branches from which `commit` can be reached, and `...` if there are more than a few.
pub(super) fn refs_with(repository: &Repository, commit: ObjectId) -> Vec<String> {
    let contains = format!("--contains={commit}");
    let words = [
        "for-each-ref",
        "--format=%(refname:short)",
        "--sort=-refname",
        &contains,
        "refs/tags",
        "refs/heads",
    ];
    let output = program::ask(&repository.location, &words.map(OsStr::new));
    let Some(output) = output.filter(|output| output.status.success()) else {
        return Vec::new();
    };
    let names = output
        .stdout
        .lines()
        .map(|name| name.to_str_lossy().into_owned());
    let mut names: Vec<_> = names.take(REFS_MAX + 1).collect();
    if names.len() > REFS_MAX {
        names[REFS_MAX] = "...".to_owned();
    }
    names
}

/// The tag of `repository` from whose tree the files in `table` differ least, and in how many files.
pub(super) fn nearest(repository: &Repository, table: &mut Table) -> Result<(BString, u64)> {
    let rules = TreeRules {
        hash: repository.hash(),
        protect: None,
        max_depth: repository.settings.max_tree_depth,
        max_held: TREES,
        redacted: false,
    };
    let unreadable = |_| Error::fatal("cannot read the tags of the repository");
    let tags = repository.refs.below(TAGS.into()).map_err(unreadable)?;
    let mut reader = Reader::new(repository.odb());
    let (mut trees, mut names) = (Vec::new(), HashSet::new());
    for tag in tags {
        let name = tag.name.as_bstr();
        // A tag may name something that has no tree.
        if let Ok(found) = treeish::resolve(repository, &mut reader, name, &mut io::sink()) {
            names.extend(prefix::root_names(&mut reader, found.tree, rules)?);
            trees.push((tag.name, found.tree));
        }
    }
    let files = table
        .sorted()
        .filter(|it| table.get(*it).kind != Kind::Directory);
    let files = files.count() as u64;
    let mut search = Search {
        prefix: prefix::find(table, &names),
        table,
        rules,
        known: HashMap::new(),
    };
    let mut nearest = None;
    for (name, tree) in trees {
        let sum = search.walk(&mut reader, tree)?;
        let distance = sum.leaves + files - sum.found - sum.equal;
        if nearest.as_ref().is_none_or(|(_, least)| distance <= *least) {
            nearest = Some((name, distance));
        }
    }
    let (name, distance) =
        nearest.ok_or_else(|| Error::fatal("the repository has no tag to compare with"))?;
    Ok((name[TAGS.len()..].into(), distance))
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
                        sum.equal = u64::from(self.table.id(number) == id);
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
