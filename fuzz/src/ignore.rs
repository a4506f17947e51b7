//! Ignore rules: what the index says of a path, a rule says as well, and a directory that is not read holds
//! nothing that is sent.
//!
//! The input is rules, and behind a NUL a path.

use sluice_core::filter::ignore::Ignore;

/// Tries `input`.
pub fn run(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let [rules, path] = [(); 2].map(|()| parts.next().unwrap_or_default());
    let mut ignore = Ignore::new();
    if ignore.add("input", rules).is_err() {
        assert!(ignore.is_empty(), "a bad line makes all void");
        let lines = rules.split(|&byte| byte == b'\n');
        lines.for_each(|line| drop(ignore.add("input", line)));
    }
    assert_eq!(ignore.ignores(path), ignore.rule(path).is_some());
    assert_eq!(ignore.prunes(path), ignore.pruning_rule(path).is_some());
    for end in (0..path.len()).filter(|&end| path[end] == b'/') {
        if ignore.prunes(&path[..end]) && end > 0 {
            assert!(ignore.ignores(path), "a directory is not read");
        }
    }
}
