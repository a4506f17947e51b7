//! Finds the directory that the files of an archive share, below which the archive has the paths of the tree.

use std::collections::HashSet;

use gix_hash::ObjectId;

use super::table::Table;
use sluice_base::error::Result;
use sluice_format::unarchive::Kind;
use sluice_git::{
    objects::reader::Reader,
    tree::{TreeRules, TreeStep, Trees},
};

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

/// The prefix of the paths in `table`, empty or with a slash at its end: of the directories that most entries share, the one
/// below which most of `names` are.
pub(super) fn find(table: &Table, names: &HashSet<Vec<u8>>) -> Vec<u8> {
    let (mut prefix, mut best, mut most) = (Vec::new(), Vec::new(), 0);
    for _ in 0..DEPTH_MAX {
        let level = Level::of(table, &prefix, names);
        if level.matches > most {
            (most, best) = (level.matches, prefix.clone());
        }
        let Some(directory) = level.directory else {
            break;
        };
        prefix.extend_from_slice(&directory);
        prefix.push(b'/');
    }
    best
}

/// What is in one directory of an archive.
struct Level {
    /// How many names at the root of the tree it has.
    matches: usize,
    /// The directory in it that has more than half of the entries.
    directory: Option<Vec<u8>>,
}

impl Level {
    fn of(table: &Table, prefix: &[u8], names: &HashSet<Vec<u8>>) -> Self {
        let (mut all, mut matched) = (0, HashSet::new());
        let mut run: (usize, &[u8]) = (0, b"");
        let mut largest = run;
        for number in table.sorted() {
            let Some(below) = table.path(number).strip_prefix(prefix) else {
                continue;
            };
            let name = below.split(|byte| *byte == b'/').next().unwrap_or_default();
            if names.contains(name) {
                matched.insert(name);
            }
            if below.len() > name.len() {
                run = (if run.1 == name { run.0 + 1 } else { 1 }, name);
                largest = largest.max(run);
                all += 1;
            } else if table.get(number).kind != Kind::Directory {
                all += 1;
            }
        }
        Self {
            matches: matched.len(),
            directory: (2 * largest.0 > all).then(|| largest.1.to_vec()),
        }
    }
}
