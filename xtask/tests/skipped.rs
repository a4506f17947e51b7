//! Prints which tests of git-sluice were skipped, and why.
//!
//! Not a test: `cargo test` runs the binaries of this package after those of git-sluice, and this binary
//! after the tests of the tasks, so that its lines are the last. `tests/it/support.rs` writes what it reads.

use std::collections::BTreeMap;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::{fs, io};

/// What `cargo test` hands on to all tests, so that slow ones run as well.
const ALL: &str = "--include-ignored";
/// The same for the slow ones alone.
const SLOW: &str = "--ignored";

fn main() -> io::Result<()> {
    if !std::env::args().any(|word| word == ALL || word == SLOW) {
        println!("\nslow tests were left out; 'cargo test -- {ALL}' runs them, too");
    }
    let name = format!("skipped-{}", parent_id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let Ok(notes) = fs::read_to_string(&path) else {
        println!("\nno test was skipped");
        return Ok(());
    };
    println!("\ntests that were skipped:");
    for (why, tests) in by_reason(&notes) {
        println!("SKIP: {why} ({})", tests.join(", "));
    }
    fs::remove_file(path)
}

/// The tests that were skipped for each reason, without repetition.
fn by_reason(notes: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons = BTreeMap::<_, Vec<_>>::new();
    for (why, test) in notes.lines().filter_map(|line| line.split_once('\t')) {
        let tests = reasons.entry(why).or_default();
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    reasons
}
