//! Lines of code in each crate, against the budget that `budgets.txt` gives it.
//!
//! A line counts if it is neither blank nor a comment, and if it is not part of a test. Who needs more takes something away, or
//! says in that file why the crate has to grow.

use std::{fs, path::Path};

const BUDGETS: &str = include_str!("budgets.txt");

#[test]
fn every_crate_keeps_its_budget() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rows: Vec<(&str, usize)> = BUDGETS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let mut words = line.split_whitespace();
            let folder = words.next().expect("a folder");
            let lines = words.next().and_then(|word| word.parse().ok());
            (folder, lines.expect("a number of lines"))
        })
        .collect();
    let crates = fs::read_dir(root.join("crates")).expect("the crates");
    for member in crates {
        let name = member.expect("readable").file_name();
        let folder = format!("crates/{}", name.to_string_lossy());
        let has_row = rows.iter().any(|(row, _)| *row == folder);
        assert!(has_row, "budgets.txt has no row for {folder}");
    }
    let above: Vec<String> = rows
        .iter()
        .filter_map(|(folder, budget)| {
            let lines = code_below(&root.join(folder).join("src"));
            (lines > *budget)
                .then(|| format!("{folder} has {lines} lines of code, {budget} are its budget"))
        })
        .collect();
    assert!(above.is_empty(), "{}", above.join("\n"));
}

/// Lines of code in all files below `directory`.
fn code_below(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).expect("a folder of code");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let lines = paths.map(|path| {
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() {
            code_below(&path)
        } else if is_code && !path.ends_with("tests.rs") {
            code_in(&fs::read_to_string(&path).expect("text"))
        } else {
            0
        }
    });
    lines.sum()
}

/// Lines of code in a file with this `text`. Unit tests are at its end.
fn code_in(text: &str) -> usize {
    let before_tests = text.split("\n#[cfg(test)]\nmod tests {").next();
    let lines = before_tests
        .unwrap_or_default()
        .lines()
        .map(str::trim_start);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}
