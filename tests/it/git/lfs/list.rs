//! `missing` names the LFS objects that an archive needs.

use std::fs;

use serde_json::{Value, json};

use super::{CONTENT, Lfs, pointer, sha256};
use crate::{git::partial::list::List, support::noise};

/// Each object is listed once, with its first path, whatever `--missing` says.
#[test]
fn objects_that_are_missing() {
    let lfs = Lfs::with_files();
    lfs.point("ignored/a.bin", &pointer(&sha256(b"never there"), 11));
    lfs.commit();
    let (small, large) = (sha256(b"small\n"), sha256(&noise(1, 3_000_000)));
    for hash in [&small, &large] {
        fs::remove_file(lfs.object(hash)).unwrap();
    }
    lfs.repo.write("rules", "**\n");
    let rules = format!("--access-rules={}", lfs.repo.path().join("rules").display());
    let line = |hash: &str, size: usize, path: &str| json!({"kind": "lfs", "oid": hash, "size": size, "path": path});
    let mut expected = vec![
        line(&small, 6, "a.bin"),
        line(&large, 3_000_000, "d/large.bin"),
    ];
    expected.sort_by_key(|line| line["oid"].to_string());
    let list = |args: &[&str]| {
        let ignored = [CONTENT, "--exclude=ignored/"];
        List::of(&lfs.repo, &[&ignored[..], args, &["HEAD"]].concat())
    };
    for args in [
        &[][..],
        &["--missing=omit"],
        &["--missing=placeholder", "--max-size=1g"],
        &[&rules, "--missing=omit"],
    ] {
        let list = list(args);
        assert_eq!(list.lines, expected, "{args:?}");
        assert!(list.is_complete());
    }
    // What is too large is not needed, and neither is what stays as it was.
    let small: Vec<Value> = vec![line(&small, 6, "a.bin")];
    assert_eq!(list(&["--max-size=1m"]).lines, small);
    lfs.add("new.bin", b"new");
    lfs.commit();
    assert!(list(&["--base=HEAD~1"]).lines.is_empty());
    assert!(List::of(&lfs.repo, &["HEAD"]).lines.is_empty());
    assert!(
        List::of(&lfs.repo, &["--lfs=pointer", "HEAD"])
            .lines
            .is_empty()
    );
}
