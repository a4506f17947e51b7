//! git-sluice with filters, beside itself without: what it leaves out must not cost.
//!
//! The rules are made from the tree that is archived, so that they fit any repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::contender::Contender;
use crate::{process, scratch};

/// How many patterns that match nothing.
const PATTERNS: usize = 1000;

/// Runs with filters, and what each leaves of the bytes.
pub(super) struct Filtered {
    pub(super) contenders: Vec<Contender>,
    /// As a Markdown list.
    pub(super) notes: String,
    /// Holds the rules.
    _rules: TempDir,
}

/// A file of the tree.
struct File {
    path: String,
    size: u64,
}

/// The runs that there are for `rev`, beside `plain`, which is without filters.
pub(super) fn find(rev: &str, plain: &Contender, directory: &Path) -> Result<Filtered> {
    let files = files(rev, directory)?;
    let rules = scratch::directory()?;
    let total: u64 = files.iter().map(|file| file.size).sum();
    let [patterns, pruned] = ["1000-patterns", "third"].map(|name| rules.path().join(name));
    fs::write(&patterns, unmatched())?;
    let (directories, left) = a_third(&files, total);
    fs::write(&pruned, directories)?;
    let limit = limit(&files, total);
    let small = files.iter().filter(|file| file.size <= limit);
    let below: u64 = small.map(|file| file.size).sum();
    let share = |bytes: u64| format!("{:.2} of the bytes", bytes as f64 / total.max(1) as f64);
    let runs = [
        (
            format!("--exclude-from={}", patterns.display()),
            format!(
                "{PATTERNS} patterns, on {} paths, that match none",
                files.len()
            ),
        ),
        (
            format!("--exclude-from={}", pruned.display()),
            format!("directories left out, {} left", share(left)),
        ),
        (
            format!("--max-size={limit}"),
            format!("large files left out, {} left", share(below)),
        ),
    ];
    let mut filtered = Filtered {
        contenders: Vec::new(),
        notes: String::new(),
        _rules: rules,
    };
    for (option, note) in runs {
        let arguments = [vec![option.clone()], plain.arguments.clone()].concat();
        let contender = Contender::new("git-sluice", &plain.program, arguments);
        filtered.notes += &format!("- `{option}`: {note}\n");
        filtered.contenders.push(contender);
    }
    Ok(filtered)
}

fn files(rev: &str, directory: &Path) -> Result<Vec<File>> {
    let mut git = Command::new("git");
    git.args(["-c", "core.quotePath=false", "ls-tree", "-r", "-l", rev]);
    let listed = process::text(git.current_dir(directory))?;
    let file = |line: &str| {
        let (fields, path) = line.split_once('\t')?;
        let size = fields.split_whitespace().last()?.parse().unwrap_or(0);
        let path = path.to_owned();
        Some(File { path, size })
    };
    listed
        .lines()
        .map(|line| file(line).with_context(|| format!("git ls-tree said '{line}'")))
        .collect()
}

/// Patterns of all kinds, none of which matches anything.
fn unmatched() -> String {
    let line = |number: usize| match number % 6 {
        0 => format!("absent-{number}/\n"),
        1 => format!("**/absent-{number}/**\n"),
        2 => format!("*.absent{number}\n"),
        3 => format!("**/*.absent{number}\n"),
        4 => format!("absent/{number}/file.c\n"),
        _ => format!("src/*/absent-{number}/?[a-f]*.h\n"),
    };
    (0..PATTERNS).map(line).collect()
}

/// Directories that hold about a third of all bytes, as rules, and the bytes that are left.
fn a_third(files: &[File], total: u64) -> (String, u64) {
    let mut sizes = BTreeMap::<&str, u64>::new();
    for file in files {
        let above = file.path.match_indices('/').take(4).map(|(slash, _)| slash);
        for slash in above {
            *sizes.entry(&file.path[..slash + 1]).or_default() += file.size;
        }
    }
    let mut sizes: Vec<(&str, u64)> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let (mut rules, mut taken) = (Vec::<&str>::new(), 0);
    for (directory, size) in sizes {
        let apart = |rule: &&str| !directory.starts_with(*rule) && !rule.starts_with(directory);
        let fits = taken + size <= total * 35 / 100;
        if fits && rules.iter().all(apart) && !directory.contains(['*', '?', '[', '.', '{']) {
            rules.push(directory);
            taken += size;
        }
    }
    (rules.join("\n"), total - taken)
}

/// The limit above which files have about a third of all bytes.
fn limit(files: &[File], total: u64) -> u64 {
    let mut sizes: Vec<u64> = files.iter().map(|file| file.size).collect();
    sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    let mut above = 0;
    for size in sizes {
        above += size;
        if above > total / 3 {
            return size;
        }
    }
    0
}
