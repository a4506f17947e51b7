//! Finds the directory that the files of an archive share, below which the archive has the paths of the tree.

use std::collections::HashSet;

use gix_hash::ObjectId;

use super::{classes::Leaves, table::Table};
use sluice_base::error::Result;
use sluice_core::request::Content;
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

/// The names at the root of what an archive of `content` has.
pub(super) fn expected_names(content: Content) -> Result<HashSet<Vec<u8>>> {
    let (mut leaves, mut names) = (Leaves::new(content), HashSet::new());
    while let Some((name, _)) = leaves.peek()? {
        if !names.contains(first(name)) {
            let _ = names.insert(first(name).to_vec());
        }
        leaves.advance();
    }
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

/// The prefix of the paths in `table`, empty or with a slash at its end: of the directories that most entries share, the one
/// below which most of `names` are. Without any of them, the directory that all entries share.
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
    if most == 0 { shared(table) } else { best }
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
            let name = first(below);
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
