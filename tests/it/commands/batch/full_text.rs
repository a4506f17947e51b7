//! The example `full_text_index.py`, a full-text index that follows repositories.

use std::{fs, path::Path};

use super::repositories_in;
use crate::support::process::{Output, run_with_input};
use crate::support::{Repo, installed, skip};

/// What the example answers, with the index in this file.
fn search(place: &Repo, index: &str) -> Output {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/full_text_index.py");
    let mut python = place.command("python3");
    python.arg("-B").arg(example);
    run_with_input(python.args([index, "needle", "one", "two"]), b"")
}

fn has_full_text_search(place: &Repo) -> bool {
    let try_it = "import sqlite3; sqlite3.connect(':memory:').execute('create virtual table t using fts5(a)')";
    let mut python = place.command("python3");
    run_with_input(python.args(["-c", try_it]), b"").code() == 0
}

/// After each push, the index answers like a new one, and has read only what changed.
#[test]
#[ignore = "slow"]
fn a_full_text_index_follows() {
    let place = Repo::scratch();
    if !installed("python3") {
        return;
    }
    if !has_full_text_search(&place) {
        return skip("SQLite has no full-text search");
    }
    let repos = repositories_in(&place);
    for number in 0..9 {
        repos[0].write(format!("file{number}"), format!("needle {number}"));
    }
    // What changes, and since when the index is told of it.
    let pushes = [
        ("true", "the beginning"),
        ("echo nothing >file1; git rm -qf file2", "a commit"),
        ("printf 'needle\\0' >file3", "a commit"),
        (
            "git rm -qf file4 file5; mkdir file4; echo needle >file4/below",
            "a commit",
        ),
        ("git rm -qf file4/below", "a commit"),
        ("true", "a commit"),
        (
            "git checkout -q --orphan other && git gc -q --prune=now",
            "a commit",
        ),
        ("git rm -qrf . && echo needle >file0", "the beginning"),
    ];
    for (number, (script, since)) in pushes.into_iter().enumerate() {
        let script = format!("{script}; git add -A . && git commit -q --allow-empty -m push");
        repos[0].script(&script);
        let followed = search(&place, "followed");
        let fresh = search(&place, &format!("fresh{number}"));
        assert_eq!(followed.code(), 0, "{script}: {followed}");
        assert_eq!(followed.stdout, fresh.stdout, "{script}");
        let messages = followed.messages();
        let one = messages.lines().find(|line| line.starts_with("one: "));
        let is_whole = one.is_some_and(|line| line.ends_with("the beginning"));
        assert_eq!(is_whole, since == "the beginning", "{script}: {followed}");
    }
    fs::remove_dir_all(place.path().join("two")).expect("our own");
    let failed = search(&place, "followed");
    assert_eq!(failed.code(), 1, "{failed}");
    assert_eq!(failed.stdout, b"one file0\n", "{failed}");
}
