//! Finds the directory that the files of an archive share, below which the archive has the paths of the tree.

use std::collections::{HashMap, HashSet};

use gix_hash::ObjectId;

use super::{classes::each_planned, table::Table};
use sluice_base::error::Result;
use sluice_core::request::Content;
use sluice_format::unarchive::Kind;
use sluice_git::{
    objects::reader::Reader,
    tree::{TreeRules, TreeStep, Trees},
};

/// The longest name that most file systems store, in bytes.
const NAME_MAX: usize = 255;
/// The most directories in front of the paths.
const DEPTH_MAX: usize = 64;

/// The names at the root of `tree`.
pub(super) fn root_names(
    reader: &mut Reader,
    tree: ObjectId,
    rules: TreeRules,
) -> Result<HashSet<Vec<u8>>> {
    let (mut trees, mut path) = (Trees::new(tree, rules), Vec::new());
    trees.enter(reader, tree, &path)?;
    let mut names = HashSet::new();
    while let Some(step) = trees.next(reader, &mut path)? {
        if step != TreeStep::End {
            names.insert(path.clone());
        }
    }
    Ok(names)
}

/// The names at the root of what an archive of `content` has.
pub(super) fn expected_names(content: Content) -> Result<HashSet<Vec<u8>>> {
    let mut names = HashSet::new();
    each_planned(content, |name, _| {
        if !names.contains(first(name)) {
            names.insert(first(name).to_vec());
        }
        Ok(())
    })?;
    Ok(names)
}

/// The first name of `path`.
pub(super) fn first(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The directory that all entries of `table` share, with a slash at its end; empty if there is none.
pub(super) fn shared(table: &Table) -> Vec<u8> {
    let mut paths = table.sorted();
    let Some(name) = paths.next().map(|it| first(table.path(it))) else {
        return Vec::new();
    };
    let is_it = |number: usize| {
        let path = table.path(number);
        let is_directory = table.get(number).kind == Kind::Directory;
        first(path) == name && (path != name || is_directory)
    };
    if table.sorted().all(is_it) {
        [name, b"/"].concat()
    } else {
        Vec::new()
    }
}

/// The prefix of the paths in `table`: of the directories that most entries share, the one below which most of `names` are. See
/// [`begin`] if none has any of them.
pub(super) fn find(table: &Table, names: &HashSet<Vec<u8>>) -> Vec<u8> {
    let (mut prefix, mut best, mut most) = (Vec::new(), Vec::new(), 0);
    for _ in 0..DEPTH_MAX {
        let (matches, directory) = look_into(table, &prefix, names);
        if matches > most {
            (most, best) = (matches, prefix.clone());
        }
        let Some(directory) = directory else {
            break;
        };
        prefix.extend_from_slice(&directory);
        prefix.push(b'/');
    }
    if most == 0 { begin(table, names) } else { best }
}

/// The directory that all entries share. Without one, the prefix that stands in front of most of `names`: `git archive` writes
/// such names if `--prefix` lacks its slash.
fn begin(table: &Table, names: &HashSet<Vec<u8>>) -> Vec<u8> {
    let shared = shared(table);
    if !shared.is_empty() {
        return shared;
    }
    let roots: HashSet<&[u8]> = table.sorted().map(|it| first(table.path(it))).collect();
    let root = roots.iter().min().copied().unwrap_or_default();
    let matches = |prefix: &&[u8]| {
        let below = roots.iter().filter_map(|root| root.strip_prefix(*prefix));
        below.filter(|name| names.contains(*name)).count()
    };
    let prefixes = (1..root.len().min(NAME_MAX)).map(|len| &root[..len]);
    let found = prefixes.filter(|it| matches(it) > 0).max_by_key(matches);
    found.unwrap_or_default().to_vec()
}

/// How many of `names` the directory `prefix` of an archive has, and the directory in it that has more than half of the entries.
fn look_into(table: &Table, prefix: &[u8], names: &HashSet<Vec<u8>>) -> (usize, Option<Vec<u8>>) {
    let (mut all, mut matches) = (0, HashSet::new());
    let mut directories: HashMap<&[u8], usize> = HashMap::new();
    for number in table.sorted() {
        let Some(below) = table.path(number).strip_prefix(prefix) else {
            continue;
        };
        let name = first(below);
        if names.contains(name) {
            matches.insert(name);
        }
        let is_deeper = below.len() > name.len();
        if is_deeper {
            *directories.entry(name).or_default() += 1;
        }
        all += usize::from(is_deeper || table.get(number).kind != Kind::Directory);
    }
    let mut directories = directories.into_iter();
    let largest = directories.find(|(_, count)| 2 * count > all);
    (matches.len(), largest.map(|(name, _)| name.to_vec()))
}
